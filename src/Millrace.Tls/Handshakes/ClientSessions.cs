using Millrace.Tls.Certificates;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Handshakes;

/// <summary>
/// The sessions with one server that its next connections resume, the latest first. One of TLS 1.3 is used once (RFC 8446, section C.4),
/// one of TLS 1.2 again and again. A resumed session is not verified again, so it is kept for a limited time, and only for the authorities
/// that it was verified by. Any thread; the lock is held for some hundred nanoseconds, once for each handshake.
/// </summary>
internal sealed class ClientSessions
{
    /// <summary>Some 3 KB each.</summary>
    public const int Most = 16;

    private static readonly long KeptMs = (long)TimeSpan.FromHours(1).TotalMilliseconds;

    private readonly Lock _lock = new();
    private readonly List<(nint Session, long UntilMs)> _latestLast = [];
    private ClientContext? _verifiedBy;
    private bool _isClosed;

    public int Count
    {
        get
        {
            lock (_lock)
            {
                return _latestLast.Count;
            }
        }
    }

    /// <summary>Has a new connection offer a session, if there is one.</summary>
    public void TryResume(nint ssl, ClientContext context)
    {
        lock (_lock)
        {
            DropIfOf(other: context);
            bool isOffered = false;
            while (!isOffered && _latestLast is [.., var latest])
            {
                isOffered = latest.UntilMs > Environment.TickCount64 && LibSsl.SSL_SESSION_is_resumable(latest.Session) == 1
                    && LibSsl.SSL_set_session(ssl, latest.Session) == 1;
                if (!isOffered || LibSsl.SSL_SESSION_get_protocol_version(latest.Session) == SslConstants.Tls13Version)
                {
                    LibSsl.SSL_SESSION_free(latest.Session);
                    _latestLast.RemoveAt(_latestLast.Count - 1);
                }
            }
        }
    }

    /// <summary>Takes over a session; false if it is not kept.</summary>
    public bool TryKeep(nint session, ClientContext context, bool isCurrent)
    {
        lock (_lock)
        {
            if (_isClosed || !isCurrent)
            {
                return false;
            }

            DropIfOf(other: context);
            if (_latestLast.Count == Most)
            {
                LibSsl.SSL_SESSION_free(_latestLast[0].Session);
                _latestLast.RemoveAt(0);
            }

            _latestLast.Add((session, Environment.TickCount64 + KeptMs));
            return true;
        }
    }

    public void Close()
    {
        lock (_lock)
        {
            _isClosed = true;
            Drop();
        }
    }

    private void DropIfOf(ClientContext other)
    {
        if (_verifiedBy != other)
        {
            Drop();
            _verifiedBy = other;
        }
    }

    private void Drop()
    {
        foreach ((nint session, _) in _latestLast)
        {
            LibSsl.SSL_SESSION_free(session);
        }

        _latestLast.Clear();
    }
}
