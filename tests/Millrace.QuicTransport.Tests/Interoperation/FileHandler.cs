using System.Collections.Concurrent;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;
using Millrace.Tls.Tests.Quic.Interoperation;

namespace Millrace.QuicTransport.Tests.Interoperation;

/// <summary>HTTP/3 as far as a client of others needs it: each request is answered with content of one length.</summary>
internal sealed class FileHandler(QuicServerConnection connection, long length, ConcurrentQueue<(long Length, string Hash)> requests)
    : QuicServerHandler
{
    public override void OnHandshakeComplete(QuicConnection connection)
    {
        Assert.True(connection.Streams.TryOpen(isBidirectional: false, out QuicStream? control));
        control!.Write(Http3Text.Control);
    }

    public override void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
    {
        if (events.HasFlag(StreamEvents.Closed))
        {
            (stream.Tag as Exchange)?.Reader.Dispose();
            return;
        }

        if (!stream.IsPeers)
        {
            return;
        }

        var exchange = (Exchange)(stream.Tag ??= new Exchange(new MessageReader()));
        while (stream.TryRead(out ReadOnlySpan<byte> bytes))
        {
            if (stream.IsBidirectional)
            {
                exchange.Reader.Read(bytes);
            }

            stream.Consume(bytes.Length);
        }

        if (stream.IsBidirectional && stream.IsReadToEnd && exchange.Writer is null)
        {
            requests.Enqueue((exchange.Reader.Length, exchange.Reader.Hash));
            exchange.Writer = new MessageWriter(Http3Text.Success, length);
            exchange.Writer.Write(stream);
        }
        else if (events.HasFlag(StreamEvents.Writable))
        {
            exchange.Writer?.Write(stream);
        }
    }

    public override void OnClosed(QuicConnection connection, in CloseReason reason)
    {
    }

    public override void BeginDrain() => connection.Close(0x100, "");

    private sealed record Exchange(MessageReader Reader)
    {
        public MessageWriter? Writer { get; set; }
    }
}
