using System.Net;
using Microsoft.Extensions.Logging;
using Millrace.Engine;

namespace Millrace.AspNetCore.Transport;

/// <summary>
/// The transport's log lines: those of the sockets transport with its ids, names and words, and from 100 on our own. The category is a
/// sibling of that transport's, as both may serve one application: filters on their common parent see both.
/// </summary>
internal sealed partial class TransportLog(ILogger logger)
{
    public const string Category = "Microsoft.AspNetCore.Server.Kestrel.Transport.Millrace";

    private readonly ILogger _logger = new UnfailingLogger(logger);

    [LoggerMessage(0, LogLevel.Error, "Unexpected exception in {Place} of connection \"{ConnectionId}\".", EventName = "Unexpected")]
    public partial void Unexpected(string place, string connectionId, Exception error);

    [LoggerMessage(4, LogLevel.Debug, "Connection id \"{ConnectionId}\" paused.", EventName = "ConnectionPause")]
    public partial void ConnectionPause(string connectionId);

    [LoggerMessage(5, LogLevel.Debug, "Connection id \"{ConnectionId}\" resumed.", EventName = "ConnectionResume")]
    public partial void ConnectionResume(string connectionId);

    [LoggerMessage(6, LogLevel.Debug, "Connection id \"{ConnectionId}\" received FIN.", EventName = "ConnectionReadFin")]
    public partial void ConnectionReadFin(string connectionId);

    [LoggerMessage(
        7, LogLevel.Debug, "Connection id \"{ConnectionId}\" sending FIN because: \"{Reason}\"", EventName = "ConnectionWriteFin")]
    public partial void ConnectionWriteFin(string connectionId, string reason);

    [LoggerMessage(
        8, LogLevel.Debug, "Connection id \"{ConnectionId}\" sending RST because: \"{Reason}\"", EventName = "ConnectionWriteRst")]
    public partial void ConnectionWriteRst(string connectionId, string reason);

    [LoggerMessage(14, LogLevel.Debug, "Connection id \"{ConnectionId}\" communication error.", EventName = "ConnectionError")]
    public partial void ConnectionError(string connectionId, Exception error);

    [LoggerMessage(19, LogLevel.Debug, "Connection id \"{ConnectionId}\" reset.", EventName = "ConnectionReset")]
    public partial void ConnectionReset(string connectionId);

    [LoggerMessage(
        101, LogLevel.Warning, "Connection id \"{ConnectionId}\" is reset: {Occupant} {Reason}", EventName = "ReactorWaitFailed")]
    public partial void ReactorWaitFailed(string connectionId, string occupant, string reason);

    [LoggerMessage(102, LogLevel.Warning, "TLS on {EndPoint} is left to Kestrel's UseHttps: {Cause}.", EventName = "TlsLeft")]
    public partial void TlsLeft(EndPoint endPoint, string cause);

    [LoggerMessage(
        103,
        LogLevel.Debug,
        "Connection id \"{ConnectionId}\" is refused for its client's certificate.",
        EventName = "ClientCertificateRefused")]
    public partial void ClientCertificateRefused(string connectionId);

    [LoggerMessage(
        104,
        LogLevel.Warning,
        "{EndPoint} is not closed everywhere after {Patience}, as a handler blocks its reactor: what comes there is refused.",
        EventName = "UnbindingLeft")]
    public partial void UnbindingLeft(EndPoint endPoint, TimeSpan patience);

    [LoggerMessage(
        105,
        LogLevel.Warning,
        "Reactors have not ended after {Patience}, as a handler blocks one: they end when it returns, or with the process.",
        EventName = "ReactorsLeft")]
    public partial void ReactorsLeft(TimeSpan patience);

    [LoggerMessage(
        106,
        LogLevel.Warning,
        "Connection middleware that is registered before UseMillraceHttps on {EndPoint} has bytes pass through it: it sees what is "
            + "decrypted, not what is on the wire. Register it behind, or use UseHttps there.",
        EventName = "TlsBehindMiddleware")]
    public partial void TlsBehindMiddleware(EndPoint? endPoint);

    [LoggerMessage(100, LogLevel.Warning, "{EndPoint} is left to the next transport: {Cause}. {Remedy}.", EventName = "EndPointLeft")]
    public partial void EndPointLeft(EndPoint endPoint, string cause, string remedy);
}
