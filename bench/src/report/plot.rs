//! Line plots on logarithmic axes, as SVG.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::Result;
use crate::context::Side;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 60.0;
const BOTTOM: f64 = 55.0;

/// The number format of an axis.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unit {
    /// Numbers, with k and M.
    Count,
    /// Bytes, with kB, MB and GB.
    Bytes,
}

/// One plot with a line per side.
#[derive(Debug)]
pub(crate) struct Plot {
    title: &'static str,
    across: (&'static str, Unit),
    up: (&'static str, Unit),
    lines: [Vec<(f64, f64)>; Side::ALL.len()],
}

impl Plot {
    pub(crate) fn new(title: &'static str, across: (&'static str, Unit), up: (&'static str, Unit)) -> Self {
        Self { title, across, up, lines: Default::default() }
    }

    pub(crate) fn add(&mut self, side: Side, across: f64, up: f64) {
        self.lines[side.index()].push((across, up));
    }

    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, self.draw()?)?;
        Ok(())
    }

    fn draw(&self) -> Result<String> {
        let points = || self.lines.iter().flatten();
        let across = Axis::over(points().map(|point| point.0), LEFT, WIDTH - RIGHT);
        let up = Axis::over(points().map(|point| point.1), HEIGHT - BOTTOM, TOP);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n\
             <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{}</text>\n",
            self.title
        );
        for (value, at) in across.decades() {
            writeln!(
                svg,
                "<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{:.1}\" stroke=\"#dddddd\"/>",
                HEIGHT - BOTTOM
            )?;
            let label = label(value, self.across.1);
            writeln!(
                svg,
                "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                HEIGHT - BOTTOM + 18.0
            )?;
        }
        for (value, at) in up.decades() {
            writeln!(
                svg,
                "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"#dddddd\"/>",
                WIDTH - RIGHT
            )?;
            let label = label(value, self.up.1);
            writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT - 8.0,
                at + 4.0
            )?;
        }
        writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 12.0,
            self.across.0
        )?;
        writeln!(
            svg,
            "<text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            HEIGHT / 2.0,
            self.up.0
        )?;
        let mut legend = LEFT;
        for side in Side::ALL {
            let color = color(side);
            let line = &self.lines[side.index()];
            if line.is_empty() {
                continue;
            }
            let places: Vec<String> = line
                .iter()
                .map(|point| format!("{:.1},{:.1}", across.place(point.0), up.place(point.1)))
                .collect();
            writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>",
                places.join(" ")
            )?;
            for place in places {
                let (x, y) = place.split_once(',').unwrap_or_default();
                writeln!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"3\" fill=\"{color}\"/>")?;
            }
            writeln!(
                svg,
                "<line x1=\"{legend}\" y1=\"40\" x2=\"{}\" y2=\"40\" stroke=\"{color}\" stroke-width=\"3\"/>",
                legend + 22.0
            )?;
            writeln!(svg, "<text x=\"{}\" y=\"44\">{}</text>", legend + 28.0, side.name())?;
            legend += 130.0;
        }
        svg.push_str("</svg>\n");
        Ok(svg)
    }
}

/// A logarithmic axis from one power of ten to another.
struct Axis {
    least: f64,
    most: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| *value > 0.0) {
            (least, most) = (least.min(value), most.max(value));
        }
        let (least, most) =
            if least.is_finite() { (least.log10().floor(), most.log10().ceil()) } else { (0.0, 1.0) };
        Self { least, most: most.max(least + 1.0), from, to }
    }

    fn place(&self, value: f64) -> f64 {
        let part = (value.max(f64::MIN_POSITIVE).log10() - self.least) / (self.most - self.least);
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    fn decades(&self) -> impl Iterator<Item = (f64, f64)> {
        std::iter::successors(Some(self.least), |power| Some(power + 1.0))
            .take_while(|power| *power <= self.most)
            .map(|power| 10_f64.powf(power))
            .map(|value| (value, self.place(value)))
    }
}

const fn color(side: Side) -> &'static str {
    match side {
        Side::Limit => "#888888",
        Side::Peer => "#d95f02",
        Side::Ours => "#1b6ca8",
        Side::Glibc => "#7fb2d9",
    }
}

fn label(value: f64, unit: Unit) -> String {
    let steps = match unit {
        Unit::Count => ["", "k", "M", "G"],
        Unit::Bytes => [" B", " kB", " MB", " GB"],
    };
    let (mut value, mut step) = (value, 0);
    while value >= 1000.0 && step + 1 < steps.len() {
        (value, step) = (value / 1000.0, step + 1);
    }
    format!("{value:.0}{}", steps[step])
}
