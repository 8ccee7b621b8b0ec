//! Answers with content other than text.

use agent_client_protocol::v1::schema::{
    AudioContent, ContentBlock, EmbeddedResource, EmbeddedResourceResource, ImageContent, ResourceLink,
    TextResourceContents,
};

use crate::turn::{DONE, Outcome, Turn};

/// A PNG of one blue pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGPQb/wOAAKKAaiCgkNQAAAAAElFTkSuQmCC";
/// A WAV of one millisecond of silence.
const WAV: &str = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

/// `image`
pub(super) async fn image(turn: &Turn, _: &str) -> Outcome {
    turn.say("One blue pixel:").await?;
    turn.say_content(ContentBlock::Image(ImageContent::new(PNG, "image/png"))).await?;
    Ok(DONE)
}

/// `audio`
pub(super) async fn audio(turn: &Turn, _: &str) -> Outcome {
    turn.say("One millisecond of silence:").await?;
    turn.say_content(ContentBlock::Audio(AudioContent::new(WAV, "audio/wav"))).await?;
    Ok(DONE)
}

/// `resource`
pub(super) async fn resource(turn: &Turn, _: &str) -> Outcome {
    turn.say("One embedded resource and one link:").await?;
    let text = TextResourceContents::new("Hello from a resource.\n", "file:///mock/hello.txt")
        .mime_type("text/plain".to_owned());
    let embedded = EmbeddedResource::new(EmbeddedResourceResource::TextResourceContents(text));
    turn.say_content(ContentBlock::Resource(embedded)).await?;
    let link =
        ResourceLink::new("hello.txt", "file:///mock/hello.txt").mime_type("text/plain".to_owned()).size(23);
    turn.say_content(ContentBlock::ResourceLink(link)).await?;
    Ok(DONE)
}
