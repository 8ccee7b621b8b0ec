//! Installs uv on a machine without pip: downloads the wheel of uv directly from pip's configured index.
//!
//! This works only with a configured index: no index is built in. A wheel without a checksum in the index is
//! refused, since the program in it will be run.

use std::path::Path;

use reqwest::Url;
use sandbox_fs::FileFormat;
use serde::Deserialize;

use crate::http::chain;
use crate::install::archive::unpack;
use crate::install::context::InstallContext;
use crate::install::download;
use crate::platform::Platform;

/// A wheel in an index.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wheel {
    url: Url,
    sha256: Option<String>,
}

/// Downloads this version of uv and moves its program to `bin/uv` in the directory.
pub(super) async fn fetch(
    context: &InstallContext,
    index: &str,
    version: &str,
    directory: &Path,
) -> Result<(), String> {
    let page = format!("{}/uv/", index.trim_end_matches('/'));
    let request = context
        .http
        .get()?
        .get(&page)
        .header("accept", "application/vnd.pypi.simple.v1+json, text/html;q=0.1");
    let answer = async {
        let response = request.send().await?.error_for_status()?;
        let base = response.url().clone();
        Ok::<_, reqwest::Error>((base, response.text().await?))
    };
    let (base, text) = answer.await.map_err(|error| chain(&error))?;
    let wheel = find(&base, &text, version)
        .ok_or_else(|| format!("{page} lists no uv {version} for {}", Platform::current()))?;
    let sha256 = wheel.sha256.ok_or_else(|| format!("{page} gives no sha256 for {}", wheel.url))?;
    let file = context.scratch.path().join("uv.whl");
    download::fetch(context.http.get()?, wheel.url.as_str(), &file, Some(&sha256)).await?;
    let folder = context.scratch.path().join("uv");
    let (bin, program) = (directory.join("bin"), directory.join("bin/uv"));
    let inside = folder.join(format!("uv-{version}.data/scripts/uv"));
    let place = move || {
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        unpack(&file, FileFormat::Zip, &folder, 0)?;
        let moved = std::fs::create_dir_all(&bin)
            .and_then(|()| std::fs::rename(&inside, &program))
            .and_then(|()| super::npm::make_executable(&program));
        moved.map_err(|error| format!("{}: {error}", inside.display()))
    };
    tokio::task::spawn_blocking(place).await.unwrap_or_else(|error| Err(error.to_string()))
}

/// Finds the wheel for this platform in an index page, which may be JSON or HTML.
fn find(base: &Url, page: &str, version: &str) -> Option<Wheel> {
    let (family, processor) = match Platform::current() {
        Platform::LinuxX86_64 => ("manylinux", "x86_64"),
        Platform::LinuxAarch64 => ("manylinux", "aarch64"),
        Platform::DarwinX86_64 => ("macosx", "x86_64"),
        Platform::DarwinAarch64 => ("macosx", "arm64"),
    };
    let fits = |name: &str| {
        name.starts_with(&format!("uv-{version}-"))
            && Path::new(name).extension().is_some_and(|extension| extension == "whl")
            && name.contains(family)
            && name.contains(processor)
    };
    let wheels = from_json(base, page).unwrap_or_else(|| from_html(base, page));
    wheels.into_iter().find(|wheel| wheel.url.path_segments().and_then(Iterator::last).is_some_and(fits))
}

fn from_json(base: &Url, page: &str) -> Option<Vec<Wheel>> {
    #[derive(Deserialize)]
    struct Page {
        files: Vec<File>,
    }
    #[derive(Deserialize)]
    struct File {
        url: String,
        #[serde(default)]
        hashes: std::collections::BTreeMap<String, String>,
    }
    let page: Page = serde_json::from_str(page).ok()?;
    let wheel = |file: File| {
        Some(Wheel { url: base.join(&file.url).ok()?, sha256: file.hashes.get("sha256").cloned() })
    };
    Some(page.files.into_iter().filter_map(wheel).collect())
}

fn from_html(base: &Url, page: &str) -> Vec<Wheel> {
    let links = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let wheel = |link: &str| {
        let mut url = base.join(&link.replace("&amp;", "&")).ok()?;
        let sha256 = url.fragment().and_then(|fragment| fragment.strip_prefix("sha256=")).map(str::to_owned);
        url.set_fragment(None);
        Some(Wheel { url, sha256 })
    };
    links.filter_map(wheel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_index_pages_are_read() {
        let base = Url::parse("http://index.invalid/simple/uv/").unwrap();
        let name = match Platform::current() {
            Platform::LinuxX86_64 => "uv-1.2.3-py3-none-manylinux_2_17_x86_64.whl",
            Platform::LinuxAarch64 => "uv-1.2.3-py3-none-manylinux_2_17_aarch64.whl",
            Platform::DarwinX86_64 => "uv-1.2.3-py3-none-macosx_10_12_x86_64.whl",
            Platform::DarwinAarch64 => "uv-1.2.3-py3-none-macosx_11_0_arm64.whl",
        };
        let html = format!(
            "<a href=\"../../f/uv-1.2.2-py3-none-any.whl\">x</a><a href=\"../../f/{name}#sha256=abc\" x=\"y\">uv</a>"
        );
        let json = format!(
            r#"{{"files":[{{"filename":"{name}","url":"http://index.invalid/f/{name}","hashes":{{"sha256":"abc"}}}}]}}"#
        );
        let expected = Wheel {
            url: Url::parse(&format!("http://index.invalid/f/{name}")).unwrap(),
            sha256: Some("abc".to_owned()),
        };
        assert_eq!(find(&base, &html, "1.2.3"), Some(expected.clone()));
        assert_eq!(find(&base, &json, "1.2.3"), Some(expected));
        assert_eq!(find(&base, &json, "9.9.9"), None);
    }
}
