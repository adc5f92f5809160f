using Millrace.Quic.Connections;
using Millrace.Quic.Streams;

namespace Millrace.Tls.Tests.Quic.Interoperation;

/// <summary>Sends requests on one connection, each on its stream, and collects what is received. On the thread of its loop.</summary>
internal sealed class Http3Client(IReadOnlyList<string> paths, long requestLength = 0) : IQuicConnectionHandler
{
    private readonly Queue<string> _unsent = new(paths);
    private readonly (long Length, string Hash)[] _responses = new (long Length, string Hash)[paths.Count];
    private readonly TaskCompletionSource<(long Length, string Hash)[]> _done = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _left = paths.Count;

    /// <summary>Length and hash of the content of each response; fails if the connection ends before.</summary>
    public Task<(long Length, string Hash)[]> Responses => _done.Task;

    public void OnHandshakeComplete(QuicConnection connection)
    {
        Assert.True(connection.Streams.TryOpen(isBidirectional: false, out QuicStream? control));
        control!.Write(Http3Text.Control);
        Ask(connection);
    }

    public void OnStreamsAvailable(QuicConnection connection) => Ask(connection);

    public void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
    {
        if (stream.Tag is not Request request)
        {
            while (!events.HasFlag(StreamEvents.Closed) && stream.TryRead(out ReadOnlySpan<byte> other))
            {
                stream.Consume(other.Length);
            }

            return;
        }

        while (!events.HasFlag(StreamEvents.Closed) && stream.TryRead(out ReadOnlySpan<byte> bytes))
        {
            request.Reader.Read(bytes);
            stream.Consume(bytes.Length);
        }

        if (events.HasFlag(StreamEvents.Writable))
        {
            request.Writer.Write(stream);
        }

        if (stream.IsReadToEnd && !request.IsDone)
        {
            request.IsDone = true;
            _responses[request.Index] = (request.Reader.Length, request.Reader.Hash);
            request.Reader.Dispose();
            if (--_left == 0)
            {
                _done.TrySetResult(_responses);
            }
        }
    }

    public void OnNewToken(QuicConnection connection, ReadOnlySpan<byte> token)
    {
    }

    public void OnClosed(QuicConnection connection, in CloseReason reason) =>
        _done.TrySetException(new InvalidOperationException($"The connection has ended: {reason}"));

    private void Ask(QuicConnection connection)
    {
        while (_unsent.Count > 0 && connection.Streams.TryOpen(isBidirectional: true, out QuicStream? stream))
        {
            int index = paths.Count - _unsent.Count;
            byte[] head = Http3Text.Request(_unsent.Dequeue(), requestLength > 0);
            var request = new Request(index, new MessageReader(), new MessageWriter(head, requestLength));
            stream!.Tag = request;
            request.Writer.Write(stream);
        }
    }

    private sealed record Request(int Index, MessageReader Reader, MessageWriter Writer)
    {
        public bool IsDone { get; set; }
    }
}
