// SPDX-License-Identifier: GPL-2.0-only
//! What a client asks, and what is answered.

use gpreempt_operator::metrics::Format;

/// The longest head of a request.
pub const LONGEST: usize = 16 * 1024;

/// What a client is told.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    status: &'static str,
    content_type: &'static str,
    body: String,
    /// Without the body, as for HEAD.
    bare: bool,
}

impl Answer {
    fn say(status: &'static str, body: impl Into<String>) -> Answer {
        Answer {
            status,
            content_type: "text/plain; charset=utf-8",
            body: body.into(),
            bare: false,
        }
    }

    /// What is sent.
    pub fn bytes(&self) -> Vec<u8> {
        let mut text = format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.status,
            self.content_type,
            self.body.len()
        );
        if !self.bare {
            text.push_str(&self.body);
        }
        text.into_bytes()
    }
}

/// Whether the head is complete.
pub fn is_whole(bytes: &[u8]) -> bool {
    let ends = |end: &[u8]| bytes.windows(end.len()).any(|part| part == end);
    ends(b"\r\n\r\n") || ends(b"\n\n")
}

/// The answer to a head that never came to its end.
pub fn too_long() -> Answer {
    Answer::say(
        "431 Request Header Fields Too Large",
        "the request is too long\n",
    )
}

/// The answer to a request; the metrics are read only where they are asked for.
pub fn answer(head: &[u8], metrics: &dyn Fn(Format) -> String) -> Answer {
    let Some((method, path, lines)) = parts(head) else {
        return Answer::say("400 Bad Request", "this is no request of HTTP\n");
    };
    let mut answer = match (method, path) {
        ("GET" | "HEAD", "/metrics") => {
            let format = wanted(&lines);
            Answer {
                content_type: format.content_type(),
                ..Answer::say("200 OK", metrics(format))
            }
        }
        ("GET" | "HEAD", "/") => Answer::say("200 OK", "the metrics are at /metrics\n"),
        ("GET" | "HEAD", _) => Answer::say("404 Not Found", "the metrics are at /metrics\n"),
        _ => Answer::say("405 Method Not Allowed", "only GET and HEAD are known\n"),
    };
    answer.bare = method == "HEAD";
    answer
}

/// Method, path without its query, and the lines of a head.
fn parts(head: &[u8]) -> Option<(&str, &str, Vec<&str>)> {
    let text = std::str::from_utf8(head).ok()?;
    let mut lines = text.lines();
    let mut words = lines.next()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_one = version == "HTTP/1.1" || version == "HTTP/1.0";
    if !is_method || !is_one || !target.starts_with('/') || words.next().is_some() {
        return None;
    }
    let path = target.split('?').next()?;
    Some((
        method,
        path,
        lines.take_while(|line| !line.is_empty()).collect(),
    ))
}

/// OpenMetrics where the client lists it and does not refuse it.
fn wanted(lines: &[&str]) -> Format {
    let accepts = lines.iter().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("accept").then_some(value)
    });
    let open = accepts.flat_map(|value| value.split(',')).any(|range| {
        let mut words = range.split(';').map(str::trim);
        let is_open = words
            .next()
            .is_some_and(|kind| kind.eq_ignore_ascii_case("application/openmetrics-text"));
        let refused = words.any(|word| {
            let quality = word.strip_prefix("q=");
            quality.and_then(|number| number.parse::<f32>().ok()) == Some(0.0)
        });
        is_open && !refused
    });
    match open {
        true => Format::OpenMetrics,
        false => Format::Prometheus,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(head: &str) -> String {
        let metrics = |format| format!("{format:?}\n");
        String::from_utf8(answer(head.as_bytes(), &metrics).bytes()).unwrap()
    }

    #[test]
    fn metrics_come_in_the_format_that_is_asked_for() {
        for (accept, format) in [
            ("", "Prometheus"),
            ("Accept: */*\r\n", "Prometheus"),
            (
                "accept: text/plain, application/openmetrics-text;version=1.0.0;q=0.5\r\n",
                "OpenMetrics",
            ),
            ("ACCEPT: Application/OpenMetrics-Text\r\n", "OpenMetrics"),
            (
                "Accept: application/openmetrics-text; q=0\r\n",
                "Prometheus",
            ),
            ("Accepted: application/openmetrics-text\r\n", "Prometheus"),
            ("\r\nAccept: application/openmetrics-text\r\n", "Prometheus"),
        ] {
            let text = asked(&format!("GET /metrics?a=b HTTP/1.1\r\n{accept}\r\n"));
            assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{accept}: {text}");
            assert!(
                text.ends_with(&format!("\r\n\r\n{format}\n")),
                "{accept}: {text}"
            );
        }
    }

    #[test]
    fn what_is_no_request_or_asks_for_something_else_is_told_so() {
        for (head, status) in [
            ("", "400"),
            ("\r\n\r\n", "400"),
            ("GET /metrics\r\n\r\n", "400"),
            ("GET /metrics HTTP/2\r\n\r\n", "400"),
            ("GET metrics HTTP/1.1\r\n\r\n", "400"),
            ("GET  /metrics HTTP/1.1\r\n\r\n", "400"),
            ("\u{16}\u{3}\u{1} /metrics HTTP/1.1\r\n\r\n", "400"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("GET /../etc/passwd HTTP/1.1\r\n\r\n", "404"),
            ("GET / HTTP/1.0\n\n", "200"),
        ] {
            let text = asked(head);
            assert!(
                text.starts_with(&format!("HTTP/1.1 {status} ")),
                "{head}: {text}"
            );
        }
        let bytes = answer(b"GET /\xff HTTP/1.1\r\n\r\n", &|_| String::new()).bytes();
        assert!(bytes.starts_with(b"HTTP/1.1 400 "));
    }

    #[test]
    fn a_head_has_the_length_of_the_body_and_no_body() {
        let text = asked("HEAD /metrics HTTP/1.1\r\n\r\n");
        assert!(text.contains("Content-Length: 11\r\n"), "{text}");
        assert!(text.ends_with("\r\n\r\n"), "{text}");
    }
}
