using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.Interop;

namespace Millrace.Tls;

/// <summary>The log lines of TLS. Event ids are stable: 6xx.</summary>
internal sealed partial class TlsLog(ILogger logger)
{
    private const int ExpiredEvent = 604;
    private const int EarlyEvent = 605;

    private readonly ILogger _logger = new NonThrowingLogger(logger);
    private readonly LogRateLimiter _keyLogs = new();

    /// <summary>Whether an event says that clients refuse a certificate, which makes <c>millrace check</c> fail.</summary>
    public static bool MakesCheckFail(EventId logged) => logged.Id is ExpiredEvent or EarlyEvent;

    /// <summary>Logs, rate-limited, that secrets cannot be written, as each handshake finds.</summary>
    public void KeyLogFailed(string reason)
    {
        if (_keyLogs.Admits(Environment.TickCount64, out long suppressed))
        {
            KeyLogFailed(reason, suppressed);
        }
    }

    [LoggerMessage(600, LogLevel.Debug, "A TLS handshake failed: {Reason}.")]
    public partial void HandshakeFailed(string reason);

    [LoggerMessage(601, LogLevel.Debug, "A TLS connection failed: {Reason}.")]
    public partial void SessionFailed(string reason);

    [LoggerMessage(602, LogLevel.Information, "Certificates reloaded: {Names}.")]
    public partial void CertificatesReloaded(string names);

    [LoggerMessage(603, LogLevel.Error, "Reload of the certificates failed; keeping the previous: {Reason}")]
    public partial void CertificatesKept(string reason);

    [LoggerMessage(ExpiredEvent, LogLevel.Warning,
        "The certificate {File} expired on {Date:yyyy-MM-dd}: clients will refuse it. Renew it.")]
    public partial void CertificateExpired(string file, DateTime date);

    [LoggerMessage(EarlyEvent, LogLevel.Warning,
        "The certificate {File} is not valid before {Date:yyyy-MM-dd}: clients will refuse it until then.")]
    public partial void CertificateNotYetValid(string file, DateTime date);

    [LoggerMessage(606, LogLevel.Warning, "The certificate {File} is not used for {Name}: an earlier one has the same name.")]
    public partial void NameTaken(string file, string name);

    [LoggerMessage(607, LogLevel.Warning, "The secrets of TLS connections are written to {File}: its readers can decrypt all traffic.")]
    public partial void KeysLogged(string file);

    [LoggerMessage(608, LogLevel.Error,
        "The secrets of TLS connections cannot be written: {Reason} ({Suppressed} similar errors suppressed)")]
    private partial void KeyLogFailed(string reason, long suppressed);

    [LoggerMessage(609, LogLevel.Warning,
        "The certificates in {File} are not in order, and are sent in order: put that of the key first, then the issuer of each.")]
    public partial void ChainReordered(string file);

    [LoggerMessage(610, LogLevel.Warning,
        "{File} also holds a certificate of {Subject}, which does not lead from that of the key to its root: it is not sent. Remove it.")]
    public partial void CertificateUnrelated(string file, string subject);

    [LoggerMessage(612, LogLevel.Warning, "The certificate {File} cannot be read again and stays as it was: {Reason}")]
    public partial void CertificateKept(string file, string reason);

    [LoggerMessage(611, LogLevel.Error, "An authority's validation of a domain failed: {Reason}")]
    public partial void ChallengeFailed(string reason);
}
