using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;
using Millrace.Quic.Connections;
using Millrace.Quic.Protection;
using Millrace.Quic.Streams;
using Millrace.Tls.Quic;

namespace Millrace.Tls.Tests.Quic.Interoperation;

/// <summary>Answers each request with content of one length, whatever it asks for. On the thread of its loop.</summary>
internal sealed class Http3Server(TlsTerminator terminator, long responseLength) : IQuicAcceptor
{
    private readonly ConcurrentQueue<(long Length, string Hash)> _requests = new();
    private readonly ConcurrentQueue<CloseReason> _ends = new();
    private readonly ConcurrentQueue<TlsSession> _sessions = new();

    /// <summary>The content of requests.</summary>
    public IReadOnlyCollection<(long Length, string Hash)> Requests => _requests;

    public IReadOnlyCollection<CloseReason> Ends => _ends;

    public IReadOnlyCollection<TlsSession> Sessions => _sessions;

    private long ResponseLength { get; } = responseLength;

    public bool TryAccept(
        in PathAddress client, in PathAddress local, [NotNullWhen(true)] out QuicHandshake? handshake,
        [NotNullWhen(true)] out IQuicConnectionHandler? handler)
    {
        QuicServerHandshake accepted = terminator.AcceptQuic();
        handshake = accepted;
        handler = new Http3ServerConnection(this, accepted);
        return true;
    }

    private sealed record Exchange(MessageReader Reader)
    {
        public MessageWriter? Writer { get; set; }
    }

    /// <summary>One connection.</summary>
    private sealed class Http3ServerConnection(Http3Server server, QuicServerHandshake handshake) : IQuicConnectionHandler
    {
        public void OnHandshakeComplete(QuicConnection connection)
        {
            server._sessions.Enqueue(handshake.Session!);
            Assert.True(connection.Streams.TryOpen(isBidirectional: false, out QuicStream? control));
            control!.Write(Http3Text.Control);
        }

        public void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
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
                server._requests.Enqueue((exchange.Reader.Length, exchange.Reader.Hash));
                exchange.Writer = new MessageWriter(Http3Text.Success, server.ResponseLength);
                exchange.Writer.Write(stream);
            }
            else if (events.HasFlag(StreamEvents.Writable))
            {
                exchange.Writer?.Write(stream);
            }
        }

        public void OnStreamsAvailable(QuicConnection connection)
        {
        }

        public void OnNewToken(QuicConnection connection, ReadOnlySpan<byte> token)
        {
        }

        public void OnClosed(QuicConnection connection, in CloseReason reason) => server._ends.Enqueue(reason);
    }
}
