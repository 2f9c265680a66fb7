use super::*;
use crate::protocol::{NoArguments, ThreadArguments};
use crate::requests::{Continue, Pause, Threads};
use crate::server::codec::{Codec, FrameError};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::codec::{FramedRead, FramedWrite};

/// Records the calls of a listener as text.
impl Listener for UnboundedSender<String> {
    fn on_event(&mut self, event: Event) {
        self.send(format!("{event:?}")).expect("a receiver");
    }

    fn on_resumed(&mut self) {
        self.send("resumed".to_owned()).expect("a receiver");
    }

    fn on_end(&mut self) {
        self.send("end".to_owned()).expect("a receiver");
    }
}

/// The other end of a client's connection.
struct Server {
    input: FramedRead<ReadHalf<DuplexStream>, Codec>,
    output: FramedWrite<WriteHalf<DuplexStream>, Codec>,
}

impl Server {
    async fn send(&mut self, message: Value) {
        let message = message.to_string();
        self.output
            .send(message.as_bytes())
            .await
            .expect("a reader");
    }

    /// Answers a request.
    async fn answer(&mut self, request: &Value, body: Value) {
        self.send(json!({
            "seq": 1, "type": "response", "request_seq": request["seq"], "success": true,
            "command": request["command"], "body": body,
        }))
        .await;
    }

    /// Returns the next message; `None` at the end of the stream.
    async fn next(&mut self) -> Option<Value> {
        let message = self.input.next().await?.expect("a frame");
        Some(serde_json::from_slice(&message).expect("JSON"))
    }
}

/// A client and its server, with a stream that takes `room` bytes at a time.
fn pair(room: usize) -> (Client, UnboundedReceiver<String>, Server) {
    let (ours, theirs) = duplex(room);
    let (listener, events) = unbounded_channel();
    let (input, output) = split(ours);
    let client = Client::connect(input, output, listener);
    let (input, output) = split(theirs);
    let server = Server {
        input: FramedRead::new(input, Codec::default()),
        output: FramedWrite::new(output, Codec::default()),
    };
    (client, events, server)
}

fn threads(names: &[&str]) -> Value {
    let threads = names.iter().zip(1..);
    let threads = threads.map(|(name, id)| json!({"id": id, "name": name}));
    json!({"threads": threads.collect::<Vec<_>>()})
}

#[tokio::test]
async fn responses_in_any_order_and_torn_frames_reach_their_callers() {
    // Three bytes at a time: each frame arrives in many pieces.
    let (client, _heard, mut server) = pair(3);
    let first = client.send::<Threads>(&NoArguments {}).unwrap();
    let second = client.send::<Threads>(&NoArguments {}).unwrap();
    let serve = async {
        let requests = [server.next().await.unwrap(), server.next().await.unwrap()];
        assert_eq!(requests[0]["command"], "threads");
        assert_ne!(requests[0]["seq"], requests[1]["seq"]);
        server.answer(&requests[1], threads(&["ü"])).await;
        server.answer(&requests[0], threads(&["a", "b"])).await;
    };
    let (first, second, ()) = tokio::join!(first, second, serve);
    assert_eq!(first.unwrap().threads.len(), 2);
    assert_eq!(second.unwrap().threads[0].name, "ü");
}

#[tokio::test]
async fn response_to_an_unknown_request_is_ignored() {
    let (client, _heard, mut server) = pair(4096);
    let pending = client.send::<Threads>(&NoArguments {}).unwrap();
    let request = server.next().await.unwrap();
    for seq in [json!(99), json!(0), json!("x"), json!(-1)] {
        let other = json!({"seq": seq, "command": "threads"});
        server.answer(&other, json!({})).await;
    }
    server.answer(&request, threads(&["a"])).await;
    // The second response to one request has no caller left.
    server.answer(&request, threads(&[])).await;
    assert_eq!(pending.await.unwrap().threads.len(), 1);
}

#[tokio::test]
async fn refusals_and_wrong_bodies_are_errors_of_their_request_only() {
    let (client, _heard, mut server) = pair(4096);
    let serve = async {
        let request = server.next().await.unwrap();
        server
            .send(json!({
                "seq": 1, "type": "response", "request_seq": request["seq"], "success": false,
                "command": "pause", "message": "notStopped",
                "body": {"error": {"id": 3, "format": "it runs", "showUser": false}},
            }))
            .await;
        let request = server.next().await.unwrap();
        server
            .send(json!({
                "seq": 2, "type": "response", "request_seq": request["seq"], "success": false,
                "command": "pause", "message": "no body",
            }))
            .await;
        let request = server.next().await.unwrap();
        server.answer(&request, json!({"threads": "none"})).await;
        let request = server.next().await.unwrap();
        server.answer(&request, threads(&[])).await;
    };
    let ask = async {
        let pause = ThreadArguments::default();
        let Err(ClientError::Refused(error)) = client.request::<Pause>(&pause).await else {
            panic!("not refused");
        };
        assert_eq!((error.id, error.format.as_str()), (3, "it runs"));
        let error = client.request::<Pause>(&pause).await.unwrap_err();
        assert_eq!(error.to_string(), "no body");
        let error = client.request::<Threads>(&NoArguments {}).await;
        let error = error.unwrap_err().to_string();
        assert!(
            error.starts_with("malformed response to `threads`: "),
            "{error}"
        );
        assert!(client.request::<Threads>(&NoArguments {}).await.is_ok());
    };
    tokio::join!(serve, ask);
}

#[tokio::test]
async fn end_of_the_server_ends_pending_requests() {
    let (client, mut events, mut server) = pair(4096);
    let pending = client.send::<Threads>(&NoArguments {}).unwrap();
    server.next().await.unwrap();
    drop(server);
    assert_eq!(pending.await.unwrap_err(), ClientError::Ended);
    assert_eq!(events.recv().await.as_deref(), Some("end"));
    // The listener is gone with the connection.
    assert!(events.recv().await.is_none());
    let error = client.send::<Threads>(&NoArguments {}).err();
    assert_eq!(error, Some(ClientError::Ended));
    assert_eq!(client.end(), ClientError::Ended);
}

#[tokio::test]
async fn end_inside_a_message_and_what_is_not_dap_are_reported() {
    for (sent, error) in [
        (
            &b"Content-Length: 9\r\n\r\n{}"[..],
            FrameError::Ended.to_string(),
        ),
        (
            b"panicked\r\n\r\n",
            FrameError::NotAHeader("panicked".into()).to_string(),
        ),
        (
            b"Content-Length: 2\r\n\r\n[]",
            "the message is not a JSON object".to_owned(),
        ),
    ] {
        let (client, mut events, mut server) = pair(4096);
        let pending = client.send::<Threads>(&NoArguments {}).unwrap();
        server.next().await.unwrap();
        server.output.get_mut().write_all(sent).await.unwrap();
        server.output.get_mut().shutdown().await.unwrap();
        assert_eq!(pending.await.unwrap_err(), ClientError::Broken(error));
        assert_eq!(events.recv().await.as_deref(), Some("end"));
        // Both directions are closed.
        assert_eq!(server.next().await, None);
    }
}

#[tokio::test]
async fn malformed_event_is_an_error() {
    let (client, mut events, mut server) = pair(4096);
    let stopped = json!({"seq": 1, "type": "event", "event": "stopped", "body": {"reason": 5}});
    server.send(stopped).await;
    assert_eq!(events.recv().await.as_deref(), Some("end"));
    let error = client.end().to_string();
    assert!(error.starts_with("event `stopped`: "), "{error}");
}

#[tokio::test]
async fn reverse_request_is_refused() {
    let (_client, _heard, mut server) = pair(4096);
    let reverse = json!({
        "seq": 7, "type": "request", "command": "runInTerminal", "arguments": {"args": []}
    });
    server.send(reverse).await;
    let response = server.next().await.unwrap();
    assert_eq!(response["type"], "response");
    assert_eq!(response["request_seq"], 7);
    assert_eq!(response["command"], "runInTerminal");
    assert_eq!(response["success"], false);
    assert!(response["seq"].is_u64());
}

#[tokio::test]
async fn events_and_resumption_keep_their_order() {
    let (client, mut events, mut server) = pair(4096);
    let resume = client
        .send::<Continue>(&ThreadArguments::default())
        .unwrap();
    let request = server.next().await.unwrap();
    let event = |name| json!({"seq": 1, "type": "event", "event": name});
    server.send(event("initialized")).await;
    server
        .answer(&request, json!({"allThreadsContinued": true}))
        .await;
    server.send(event("module")).await;
    server.send(event("terminated")).await;
    assert!(resume.await.unwrap().all_threads_continued);
    drop(server);
    let mut order = Vec::new();
    while let Some(event) = events.recv().await {
        order.push(event);
    }
    let expected = ["Initialized", "resumed", "Other", "Terminated", "end"];
    assert_eq!(order, expected);
}

#[tokio::test]
async fn dropped_request_is_cancelled() {
    let (client, _heard, mut server) = pair(4096);
    let answered = client.send::<Threads>(&NoArguments {}).unwrap();
    let request = server.next().await.unwrap();
    server.answer(&request, threads(&[])).await;
    answered.await.unwrap();
    let pending = client.send::<Threads>(&NoArguments {}).unwrap();
    let request = server.next().await.unwrap();
    drop(pending);
    let cancel = server.next().await.unwrap();
    assert_eq!(cancel["command"], "cancel");
    assert_eq!(cancel["arguments"], json!({"requestId": request["seq"]}));
    // Neither response has a caller.
    server.answer(&request, threads(&[])).await;
    server.answer(&cancel, Value::Null).await;
    drop(client);
    assert_eq!(server.next().await, None);
}

#[tokio::test]
async fn dropped_client_closes_the_stream_after_its_requests() {
    let (client, mut events, mut server) = pair(8);
    let pending = client.send::<Threads>(&NoArguments {}).unwrap();
    drop(client);
    drop(pending);
    assert_eq!(server.next().await.unwrap()["command"], "threads");
    assert_eq!(server.next().await.unwrap()["command"], "cancel");
    assert_eq!(server.next().await, None);
    drop(server);
    assert_eq!(events.recv().await.as_deref(), Some("end"));
}
