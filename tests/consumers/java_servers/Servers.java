// SPDX-License-Identifier: BSD-2-Clause

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;
import java.io.File;
import java.nio.ByteBuffer;
import java.security.KeyStore;
import javax.net.ssl.KeyManagerFactory;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.ssl.SslContextFactory;

/**
 * HTTPS servers whose every response has so many bytes: java Servers netty|jetty PORT BYTES. No line
 * names tenrounds.
 */
public final class Servers {
    private static final String PASSWORD = "password";
    private static byte[] body;

    public static void main(String[] words) throws Exception {
        int port = Integer.parseInt(words[1]);
        body = new byte[Integer.parseInt(words[2])];
        if (words[0].equals("netty")) {
            netty(port);
        } else {
            jetty(port);
        }
        System.out.println("ready");
    }

    private static void jetty(int port) throws Exception {
        SslContextFactory.Server tls = new SslContextFactory.Server();
        tls.setKeyStorePath("server.p12");
        tls.setKeyStorePassword(PASSWORD);
        Server server = new Server();
        ServerConnector connector = new ServerConnector(server, 1, 1, tls);
        connector.setHost("127.0.0.1");
        connector.setPort(port);
        connector.setIdleTimeout(0); // none, for slow machines
        server.addConnector(connector);
        server.setHandler(new Handler.Abstract() {
            @Override
            public boolean handle(Request request, Response response, Callback callback) {
                response.getHeaders().put("Content-Length", body.length);
                response.write(true, ByteBuffer.wrap(body), callback);
                return true;
            }
        });
        server.start();
    }

    /** With the JDK's engine of TLS, which Netty takes without its native libraries. */
    private static void netty(int port) throws Exception {
        KeyStore store = KeyStore.getInstance(new File("server.p12"), PASSWORD.toCharArray());
        KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
        keys.init(store, PASSWORD.toCharArray());
        SslContext tls = SslContextBuilder.forServer(keys).sslProvider(SslProvider.JDK).build();
        new ServerBootstrap().group(new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory()))
                .channel(NioServerSocketChannel.class)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        SslHandler handler = tls.newHandler(channel.alloc());
                        handler.setHandshakeTimeoutMillis(0); // none, for slow machines
                        channel.pipeline().addLast(handler, new HttpServerCodec(), new Responses());
                    }
                }).bind("127.0.0.1", port).sync();
    }

    private static final class Responses extends SimpleChannelInboundHandler<HttpObject> {
        @Override
        protected void channelRead0(ChannelHandlerContext context, HttpObject message) {
            if (message instanceof LastHttpContent) {
                ByteBuf content = Unpooled.wrappedBuffer(body);
                FullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1,
                        HttpResponseStatus.OK, content);
                response.headers().set("Content-Length", body.length);
                context.writeAndFlush(response);
            }
        }
    }
}
