// SPDX-License-Identifier: BSD-2-Clause
//! Panels with a line for each subject, over the sizes of calls.

use crate::{anchored, text, Area, Drawn, INK, LIMIT, PALE, TENROUNDS};
use plotters::coord::ranged1d::ValueFormatter;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// A line through points: the number of the size, and the value there.
pub struct Line {
    pub points: Vec<(usize, f64)>,
    pub colour: RGBColor,
    pub width: u32,
}

/// How values become heights.
#[derive(Clone, Copy, PartialEq)]
pub enum Scale {
    /// From 0, with a red line at 1.
    Fraction,
    Logarithm,
}

pub struct Panel {
    pub title: String,
    /// What is below the axis.
    pub caption: Option<String>,
    pub sizes: Vec<String>,
    /// The most important one first; it is drawn on top.
    pub lines: Vec<Line>,
    pub scale: Scale,
    pub format: fn(&f64) -> String,
}

impl Panel {
    pub fn draw(&self, area: &Area) -> Drawn {
        let values = || self.lines.iter().flat_map(|line| &line.points).map(|p| p.1);
        let most = values().fold(0.0, f64::max);
        let least = values().fold(f64::INFINITY, f64::min);
        if let Some(caption) = &self.caption {
            let (width, height) = area.dim_in_pixel();
            let at = ((width / 2) as i32, height as i32 - 40);
            let style = anchored(12.5, &TENROUNDS, HPos::Center, VPos::Top);
            area.draw(&Text::new(caption.as_str(), at, style))?;
        }
        let across = -0.2..self.sizes.len() as f64 - 0.8;
        let mut builder = ChartBuilder::on(area);
        builder
            .caption(&self.title, text(15.0, &INK))
            .margin(10)
            .x_label_area_size(50)
            .y_label_area_size(56);
        match self.scale {
            Scale::Fraction => {
                let up = 0.0..most.max(1.0) * 1.05;
                self.plot(builder.build_cartesian_2d(across, up)?)
            }
            Scale::Logarithm => {
                let up = (least * 0.8..most * 1.25).log_scale();
                self.plot(builder.build_cartesian_2d(across, up)?)
            }
        }
    }

    fn plot<Y>(
        &self,
        mut chart: ChartContext<'_, SVGBackend<'_>, Cartesian2d<RangedCoordf64, Y>>,
    ) -> Drawn
    where
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(0)
            .y_labels(6)
            .light_line_style(TRANSPARENT)
            .bold_line_style(PALE)
            .axis_style(PALE)
            .y_label_formatter(&self.format)
            .label_style(text(12.0, &INK))
            .draw()?;
        if self.scale == Scale::Fraction {
            let ends = [(-0.2, 1.0), (self.sizes.len() as f64 - 0.8, 1.0)];
            chart.draw_series([PathElement::new(ends, LIMIT.stroke_width(2))])?;
        }
        for line in self.lines.iter().rev() {
            let points = line
                .points
                .iter()
                .map(|&(size, value)| (size as f64, value));
            let dots = points
                .clone()
                .map(|at| Circle::new(at, 2, line.colour.filled()));
            chart.draw_series(LineSeries::new(
                points,
                line.colour.stroke_width(line.width),
            ))?;
            chart.draw_series(dots)?;
        }
        let area = chart.plotting_area();
        let (base, bottom) = (area.get_base_pixel(), area.dim_in_pixel().1 as i32);
        for (place, size) in self.sizes.iter().enumerate() {
            let x = area.map_coordinate(&(place as f64, 1.0)).0 - base.0;
            let style = anchored(10.5, &INK, HPos::Center, VPos::Top);
            let size = Text::new(size.as_str(), (x, bottom + 10), style);
            area.strip_coord_spec().draw(&size)?;
        }
        Ok(())
    }
}
