//! The body of a response with what is counted while it is being sent.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Response, Version};
use http_body::{Body, Frame, SizeHint};

use crate::activity::OpenRequest;
use crate::connections::Busy;
use crate::held::{Charge, ChargedBody, StreamProgress, hold};
use crate::response_body::ResponseBody;

/// As much of a body is given to HTTP/2 at once. It takes whole pieces, whatever the client is willing to take, so only
/// small ones show whether the client takes anything.
const SLICE: usize = 64 << 10;

/// The body of a response. Its request is open for as long as it is being sent.
#[derive(Debug)]
pub(crate) struct TrackedBody {
    body: ResponseBody,
    busy: Busy,
    charge: Charge,
    /// Only on HTTP/2.
    stream: Option<Box<Stream>>,
}

#[derive(Debug)]
struct Stream {
    progress: Arc<StreamProgress>,
    /// The rest of a piece that is given to HTTP/2 in slices.
    rest: Bytes,
    _open: Option<OpenRequest>,
}

/// Tracks the body of a response.
pub(crate) fn track(
    response: Response<ResponseBody>,
    busy: Busy,
    version: Version,
    open: Option<OpenRequest>,
) -> Response<TrackedBody> {
    let is_charged = response.extensions().get::<ChargedBody>().is_some();
    // A body that is complete was copied from somewhere: small ones from a log.
    let charge = if is_charged { Charge::Source } else { Charge::Connection };
    let stream = (version == Version::HTTP_2).then(|| {
        let progress = StreamProgress::new(&busy.connection().all);
        busy.connection().add_stream(&progress);
        Box::new(Stream { progress, rest: Bytes::new(), _open: open })
    });
    response.map(|body| TrackedBody { body, busy, charge, stream })
}

impl TrackedBody {
    fn next_slice(&mut self) -> Option<Bytes> {
        let Stream { progress, rest, .. } =
            &mut **self.stream.as_mut().filter(|stream| !stream.rest.is_empty())?;
        let slice = rest.split_to(rest.len().min(SLICE));
        Some(hold(slice, self.busy.connection(), self.charge, Some(progress)))
    }
}

impl Body for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(slice) = self.next_slice() {
            return Poll::Ready(Some(Ok(Frame::data(slice))));
        }
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            other => return Poll::Ready(other),
        };
        let frame = match frame.into_data() {
            Ok(data) => data,
            Err(frame) => return Poll::Ready(Some(Ok(frame))),
        };
        if let Some(stream) = &mut self.stream {
            stream.rest = frame;
            return Poll::Ready(Some(Ok(Frame::data(self.next_slice().unwrap_or_default()))));
        }
        let held = hold(frame, self.busy.connection(), self.charge, None);
        Poll::Ready(Some(Ok(Frame::data(held))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream() && self.stream.as_ref().is_none_or(|stream| stream.rest.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.stream.as_ref().map_or(0, |stream| stream.rest.len() as u64);
        let mut hint = self.body.size_hint();
        if rest > 0 {
            if let Some(upper) = hint.upper() {
                hint.set_upper(upper + rest);
            }
            hint.set_lower(hint.lower() + rest);
        }
        hint
    }
}
