using Millrace.Engine.Tests.Kit;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;

namespace Millrace.QuicTransport.Tests.Kit;

/// <summary>A client whose streams send a pattern and expect it back. Its calls are on its reactor; its tasks are for the test.</summary>
internal sealed class TestClient : IQuicConnectionHandler
{
    private readonly TaskCompletionSource _connected = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource<CloseReason> _closed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly Queue<Exchange> _unsent = new();
    private readonly List<Exchange> _open = [];

    public QuicClientConnection Connection { get; set; } = null!;

    /// <summary>The handshake is complete; fails if the connection ends before.</summary>
    public Task Connected => _connected.Task;

    public Task<CloseReason> Closed => _closed.Task;

    /// <summary>Sends so many bytes on a stream of its own, and completes when the same came back and ended.</summary>
    public Task EchoAsync(long length)
    {
        Exchange exchange = new(length);
        Connection.Reactor.Post(
            _ =>
            {
                _unsent.Enqueue(exchange);
                if (_connected.Task.IsCompletedSuccessfully && !Connection.IsClosed)
                {
                    Open(Connection.Connection);
                    Connection.ScheduleSend();
                }
                else if (_closed.Task.IsCompleted)
                {
                    exchange.Done.TrySetException(new InvalidOperationException("The connection has ended"));
                }
            },
            null);
        return exchange.Done.Task;
    }

    public Task CloseAsync(long code = 0) => Connection.Reactor.AskAsync(() =>
    {
        Connection.Close(code, "");
        return true;
    });

    public void OnHandshakeComplete(QuicConnection connection)
    {
        _connected.TrySetResult();
        Open(connection);
    }

    public void OnStreamsAvailable(QuicConnection connection) => Open(connection);

    public void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
    {
        if (stream.Tag is not Exchange exchange)
        {
            return;
        }

        if (events.HasFlag(StreamEvents.Closed))
        {
            // An empty stream ends without a byte to read.
            exchange.EndIfRead(stream);
            return;
        }

        exchange.Read(stream);
        exchange.Write(stream);
    }

    public void OnNewToken(QuicConnection connection, ReadOnlySpan<byte> token)
    {
    }

    public void OnClosed(QuicConnection connection, in CloseReason reason)
    {
        InvalidOperationException ended = new($"The connection has ended: {reason}");
        _connected.TrySetException(ended);
        _ = _connected.Task.Exception;
        _closed.TrySetResult(reason);
        foreach (Exchange exchange in _open.Concat(_unsent))
        {
            exchange.Done.TrySetException(ended);
        }
    }

    private void Open(QuicConnection connection)
    {
        while (_unsent.Count > 0 && connection.Streams.TryOpen(isBidirectional: true, out QuicStream? stream))
        {
            Exchange exchange = _unsent.Dequeue();
            _open.Add(exchange);
            stream!.Tag = exchange;
            exchange.Id = (int)stream.Id;
            exchange.Write(stream);
        }
    }

    private sealed class Exchange(long length)
    {
        private const int PieceBytes = 4000;

        private readonly byte[] _piece = new byte[PieceBytes];
        private long _sent;
        private long _received;

        public int Id { get; set; }

        public TaskCompletionSource Done { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public void Write(QuicStream stream)
        {
            while (_sent < length)
            {
                int count = (int)Math.Min(PieceBytes, length - _sent);
                for (int i = 0; i < count; i++)
                {
                    _piece[i] = Pattern.At(Id, _sent + i);
                }

                int written = stream.Write(_piece.AsSpan(0, count));
                _sent += written;
                if (written < count)
                {
                    return;
                }
            }

            stream.Finish();
        }

        public void Read(QuicStream stream)
        {
            while (stream.TryRead(out ReadOnlySpan<byte> bytes))
            {
                Pattern.Check(Id, bytes, _received);
                _received += bytes.Length;
                stream.Consume(bytes.Length);
            }

            EndIfRead(stream);
        }

        public void EndIfRead(QuicStream stream)
        {
            if (stream.IsReadToEnd)
            {
                if (_received == length)
                {
                    Done.TrySetResult();
                }
                else
                {
                    Done.TrySetException(new InvalidOperationException($"{_received} of {length} bytes came back"));
                }
            }
        }
    }
}
