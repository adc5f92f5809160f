using System.Net;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.Interop;

namespace Millrace.AspNetCore.Multiplexed;

/// <summary>
/// The log messages of connections over QUIC: those of Kestrel's QUIC transport with its ids, names and texts, and Millrace's own from 100
/// on. Nothing that a peer causes is above Debug. Any thread.
/// </summary>
internal sealed partial class MultiplexedLog(ILogger logger)
{
    public const string Category = "Microsoft.AspNetCore.Server.Kestrel.Transport.Millrace.Quic";

    /// <summary>Messages that one connection can cause, logged before rate limiting begins: each may have another cause.</summary>
    private const int Burst = 10;

    private readonly NonThrowingLogger _logger = new(logger);
    private readonly LogRateLimiter _unexpected = new(burst: Burst);
    private readonly LogRateLimiter _selections = new(burst: Burst);

    /// <summary>Logs an unexpected exception, rate-limited: a client may cause it at will.</summary>
    public void Unexpected(string place, string connectionId, Exception error)
    {
        if (_unexpected.Admits(Environment.TickCount64, out long suppressed))
        {
            Unexpected(place, connectionId, suppressed, error);
        }
    }

    /// <summary>Logs that the application gave no usable certificate, rate-limited: a client may cause it with any host.</summary>
    public void CertificateNotSelected(string host, string cause, Exception? error)
    {
        if (_selections.Admits(Environment.TickCount64, out long suppressed))
        {
            CertificateNotSelected(host, cause, suppressed, error);
        }
    }

    public void StreamPause(BaseConnectionContext stream)
    {
        if (_logger.IsEnabled(LogLevel.Debug))
        {
            StreamPause(stream.ConnectionId);
        }
    }

    public void StreamResume(BaseConnectionContext stream)
    {
        if (_logger.IsEnabled(LogLevel.Debug))
        {
            StreamResume(stream.ConnectionId);
        }
    }

    public void StreamAbortedRead(BaseConnectionContext stream, long code)
    {
        if (_logger.IsEnabled(LogLevel.Debug))
        {
            StreamAbortedRead(stream.ConnectionId, code);
        }
    }

    public void StreamAbortedWrite(BaseConnectionContext stream, long code)
    {
        if (_logger.IsEnabled(LogLevel.Debug))
        {
            StreamAbortedWrite(stream.ConnectionId, code);
        }
    }

    public void StreamAbort(BaseConnectionContext stream, long code, string reason)
    {
        if (_logger.IsEnabled(LogLevel.Debug))
        {
            StreamAbort(stream.ConnectionId, code, reason);
        }
    }

    public void StreamAbortRead(BaseConnectionContext stream, long code, string reason)
    {
        if (_logger.IsEnabled(LogLevel.Debug))
        {
            StreamAbortRead(stream.ConnectionId, code, reason);
        }
    }

    public void StreamAbortWrite(BaseConnectionContext stream, long code, string reason)
    {
        if (_logger.IsEnabled(LogLevel.Debug))
        {
            StreamAbortWrite(stream.ConnectionId, code, reason);
        }
    }

    [LoggerMessage(1, LogLevel.Debug, "Connection id \"{ConnectionId}\" accepted.", EventName = "AcceptedConnection")]
    public partial void AcceptedConnection(string connectionId);

    [LoggerMessage(
        5, LogLevel.Debug, "Connection id \"{ConnectionId}\" aborted by peer with error code {Code}.", EventName = "ConnectionAborted")]
    public partial void ConnectionAborted(string connectionId, long code);

    [LoggerMessage(
        6,
        LogLevel.Debug,
        "Connection id \"{ConnectionId}\" aborted by application with error code {Code} because: \"{Reason}\".",
        EventName = "ConnectionAbort")]
    public partial void ConnectionAbort(string connectionId, long code, string reason);

    [LoggerMessage(
        0,
        LogLevel.Error,
        "Unexpected exception in {Place} of connection \"{ConnectionId}\". ({Suppressed} similar warnings suppressed)",
        EventName = "Unexpected")]
    private partial void Unexpected(string place, string connectionId, long suppressed, Exception error);

    [LoggerMessage(8, LogLevel.Debug, "Stream id \"{ConnectionId}\" paused.", EventName = "StreamPause")]
    private partial void StreamPause(string connectionId);

    [LoggerMessage(9, LogLevel.Debug, "Stream id \"{ConnectionId}\" resumed.", EventName = "StreamResume")]
    private partial void StreamResume(string connectionId);

    [LoggerMessage(
        11, LogLevel.Debug, "Stream id \"{ConnectionId}\" read aborted by peer with error code {Code}.", EventName = "StreamAbortedRead")]
    private partial void StreamAbortedRead(string connectionId, long code);

    [LoggerMessage(
        12, LogLevel.Debug, "Stream id \"{ConnectionId}\" write aborted by peer with error code {Code}.", EventName = "StreamAbortedWrite")]
    private partial void StreamAbortedWrite(string connectionId, long code);

    [LoggerMessage(
        13,
        LogLevel.Debug,
        "Stream id \"{ConnectionId}\" aborted by application with error code {Code} because: \"{Reason}\".",
        EventName = "StreamAbort")]
    private partial void StreamAbort(string connectionId, long code, string reason);

    [LoggerMessage(
        14,
        LogLevel.Debug,
        "Stream id \"{ConnectionId}\" read side aborted by application with error code {Code} because: \"{Reason}\".",
        EventName = "StreamAbortRead")]
    private partial void StreamAbortRead(string connectionId, long code, string reason);

    [LoggerMessage(
        15,
        LogLevel.Debug,
        "Stream id \"{ConnectionId}\" write side aborted by application with error code {Code} because: \"{Reason}\".",
        EventName = "StreamAbortWrite")]
    private partial void StreamAbortWrite(string connectionId, long code, string reason);

    [LoggerMessage(
        100, LogLevel.Warning, "HTTP/3 is not served on {EndPoint}: {Cause}. {Remedy}.", EventName = "EndPointLeft")]
    public partial void EndPointLeft(EndPoint endPoint, string cause, string remedy);

    [LoggerMessage(
        101,
        LogLevel.Warning,
        "No certificate for a client of HTTP/3 that asks for \"{Host}\": {Cause}. ({Suppressed} similar warnings suppressed)",
        EventName = "CertificateNotSelected")]
    private partial void CertificateNotSelected(string host, string cause, long suppressed, Exception? error);

    [LoggerMessage(
        102,
        LogLevel.Warning,
        "A handler blocks a reactor, which has not ended its connections on {EndPoint} after {Timeout}.",
        EventName = "ListenerLeft")]
    public partial void ListenerLeft(EndPoint endPoint, TimeSpan timeout);

    [LoggerMessage(
        103,
        LogLevel.Debug,
        "Connection id \"{ConnectionId}\" was refused because of its client certificate.",
        EventName = "ClientCertificateRefused")]
    public partial void ClientCertificateRefused(string connectionId);
}
