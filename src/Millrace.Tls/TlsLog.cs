using Microsoft.Extensions.Logging;
using Millrace.Engine;

namespace Millrace.Tls;

/// <summary>The log lines of TLS. Event ids are stable: 6xx.</summary>
internal sealed partial class TlsLog(ILogger logger)
{
    private readonly ILogger _logger = new UnfailingLogger(logger);

    [LoggerMessage(600, LogLevel.Debug, "A TLS handshake failed: {Reason}.")]
    public partial void HandshakeFailed(string reason);

    [LoggerMessage(601, LogLevel.Debug, "A TLS connection failed: {Reason}.")]
    public partial void SessionFailed(string reason);

    [LoggerMessage(602, LogLevel.Information, "The certificates were read anew: {Names}.")]
    public partial void CertificatesReloaded(string names);

    [LoggerMessage(603, LogLevel.Error, "The certificates in use stay, as the new ones cannot be had: {Reason}")]
    public partial void CertificatesKept(string reason);

    [LoggerMessage(604, LogLevel.Warning, "The certificate of {File} has expired on {Date}: clients will refuse it.")]
    public partial void CertificateExpired(string file, DateTime date);

    [LoggerMessage(605, LogLevel.Warning, "The certificate of {File} is valid only from {Date} on: clients will refuse it until then.")]
    public partial void CertificateNotYetValid(string file, DateTime date);

    [LoggerMessage(606, LogLevel.Warning, "The certificate of {File} is not used for {Name}: an earlier one is for the same name.")]
    public partial void NameTaken(string file, string name);

    [LoggerMessage(607, LogLevel.Warning, "The secrets of TLS connections are written to {File}: whoever has it can read all traffic.")]
    public partial void KeysLogged(string file);

    [LoggerMessage(608, LogLevel.Error, "The secrets of TLS connections cannot be written: {Reason}")]
    public partial void KeyLogFailed(string reason);
}
