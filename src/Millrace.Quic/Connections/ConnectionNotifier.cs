using Millrace.Quic.Streams;

namespace Millrace.Quic.Connections;

/// <summary>Calls the layer above, when the connection is in a state in which it may be called back.</summary>
internal sealed class ConnectionNotifier(QuicConnection connection, IQuicConnectionHandler handler)
{
    private CloseReason _reason;
    private byte[]? _token;
    private bool _hasReason;
    private bool _isComplete;
    private bool _isNotifying;
    private bool _isClosed;

    public void OnHandshakeComplete() => _isComplete = true;

    public void OnNewToken(ReadOnlySpan<byte> token) => _token = token.ToArray();

    /// <summary>The first reason is the one.</summary>
    public void SetReason(in CloseReason reason)
    {
        if (!_hasReason)
        {
            _reason = reason;
            _hasReason = true;
        }
    }

    public void Notify()
    {
        if (_isNotifying || _isClosed)
        {
            return;
        }

        _isNotifying = true;
        try
        {
            NotifyOpen();
            if (connection.IsEnding)
            {
                _isClosed = true;
                handler.OnClosed(connection, _reason);
                connection.DisposeStreams();
                connection.Trace?.OnClosed(_reason);
            }
        }
        finally
        {
            // Also after an exception: the end is still reported.
            _isNotifying = false;
        }
    }

    private void NotifyOpen()
    {
        if (_isComplete && !connection.IsEnding)
        {
            _isComplete = false;
            handler.OnHandshakeComplete(connection);
        }

        if (_token is { } token && !connection.IsEnding)
        {
            _token = null;
            handler.OnNewToken(connection, token);
        }

        while (!connection.IsEnding && connection.Streams.TryTakeEvent(out QuicStream? stream, out StreamEvents events))
        {
            handler.OnStream(connection, stream!, events);
        }

        if (!connection.IsEnding && connection.Streams.TakeStreamAvailable())
        {
            handler.OnStreamsAvailable(connection);
        }
    }
}
