// SPDX-License-Identifier: BSD-2-Clause

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Clients of a broker with TLS: java Clients PORT CERTIFICATE. Each line of standard input is a
 * word, a topic and a number of bytes. "produce" makes the topic and fills it with records of
 * 1 KiB, "consume" reads it, and "delete" removes it. A line of standard output says "done".
 */
public final class Clients {
    private static final int RECORD = 1024;
    private static final Duration LONG = Duration.ofMinutes(5);

    private Clients() {}

    public static void main(String[] words) throws Exception {
        Map<String, Object> tls = Map.of("bootstrap.servers", "127.0.0.1:" + words[0],
                "security.protocol", "SSL", "ssl.truststore.type", "PEM",
                "ssl.truststore.location", words[1],
                // For slow machines.
                "request.timeout.ms", 300_000, "default.api.timeout.ms", 300_000);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] wanted = line.split(" ");
            int records = Integer.parseInt(wanted[2]) / RECORD;
            switch (wanted[0]) {
                case "produce":
                    produce(tls, wanted[1], records);
                    break;
                case "consume":
                    consume(tls, wanted[1], records);
                    break;
                default:
                    try (Admin admin = Admin.create(tls)) {
                        admin.deleteTopics(List.of(wanted[1])).all().get();
                    }
            }
            System.out.println("done");
        }
    }

    private static void produce(Map<String, Object> tls, String topic, int records)
            throws Exception {
        try (Admin admin = Admin.create(tls)) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
        }
        byte[] value = new byte[RECORD];
        new Random(1).nextBytes(value);
        Map<String, Object> more = Map.of("linger.ms", 20, "batch.size", 128 * 1024,
                "delivery.timeout.ms", 600_000);
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(joined(tls, more),
                new ByteArraySerializer(), new ByteArraySerializer())) {
            Future<RecordMetadata> last = null;
            for (int i = 0; i < records; i++) {
                last = producer.send(new ProducerRecord<>(topic, value));
            }
            if (last.get().offset() != records - 1) {
                throw new IllegalStateException("the last offset is " + last.get().offset());
            }
        }
    }

    private static void consume(Map<String, Object> tls, String topic, int records) {
        TopicPartition all = new TopicPartition(topic, 0);
        int got = 0;
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                joined(tls, Map.of("fetch.min.bytes", 1024 * 1024)), new ByteArrayDeserializer(),
                new ByteArrayDeserializer())) {
            // Without a group, so that no coordinator has to answer.
            consumer.assign(List.of(all));
            consumer.seekToBeginning(List.of(all));
            while (got < records) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(LONG)) {
                    if (record.value().length != RECORD) {
                        throw new IllegalStateException("a record has another length");
                    }
                    got++;
                }
            }
        }
    }

    private static Map<String, Object> joined(Map<String, Object> some, Map<String, Object> more) {
        Map<String, Object> all = new HashMap<>(some);
        all.putAll(more);
        return all;
    }
}
