using Microsoft.Extensions.Logging;

namespace Millrace.Acme;

/// <summary>The log lines of obtaining certificates. Event ids are stable: 8xx. Any thread.</summary>
internal sealed partial class AcmeLog(ILogger logger)
{
    private readonly ILogger _logger = logger;

    [LoggerMessage(800, LogLevel.Information, "Account with {Authority}: {Url}.")]
    public partial void AccountMade(string authority, string url);

    [LoggerMessage(801, LogLevel.Warning,
        "{Authority} does not accept the account {Url} any more: {Reason} Its key is kept under another name, and a new account is made.")]
    public partial void AccountLost(string authority, string url, string reason);

    [LoggerMessage(802, LogLevel.Warning,
        "The account key {File} cannot be used: {Reason}. It is kept under another name, and a new one is made.")]
    public partial void AccountKeyUnreadable(string file, string reason);

    [LoggerMessage(803, LogLevel.Warning, "{File} is not used, as if it did not exist: {Reason}")]
    public partial void FileUnreadable(string file, string reason);

    [LoggerMessage(804, LogLevel.Warning, "The certificate {File} cannot be used, and is obtained again if it is configured: {Reason}")]
    public partial void CertificateUnreadable(string file, string reason);

    [LoggerMessage(805, LogLevel.Warning, "The certificate {File} is replaced: {Reason}.")]
    public partial void CertificateReplaced(string file, string reason);

    [LoggerMessage(810, LogLevel.Information, "Order of a certificate for {Names}: {Url}.")]
    public partial void OrderBegun(string names, string url);

    [LoggerMessage(811, LogLevel.Information, "The order of a certificate for {Names} is continued: {Url}.")]
    public partial void OrderContinued(string names, string url);

    [LoggerMessage(812, LogLevel.Information, "The order {Url} for {Names} cannot be continued, and a new one is made: {Reason}.")]
    public partial void OrderDiscarded(string names, string url, string reason);

    [LoggerMessage(813, LogLevel.Information,
        "Certificate for {Names} obtained in {Seconds:0.0} s by {Challenges}; valid until {NotAfter:yyyy-MM-dd HH:mm}Z, "
        + "next renewal at {Next:yyyy-MM-dd HH:mm}Z.")]
    public partial void Obtained(string names, double seconds, string challenges, DateTime notAfter, DateTime next);

    [LoggerMessage(EventId = 814, Message =
        "No certificate for {Names}: {Reason} Attempt {Failures} failed; the next is at {Next:yyyy-MM-dd HH:mm:ss}Z. {State}")]
    public partial void Failed(LogLevel level, string names, string reason, int failures, DateTime next, string state);

    [LoggerMessage(815, LogLevel.Warning,
        "The authority offers no chain that ends at '{Preferred}' for {Names}, only {Offered}: its default is used.")]
    public partial void ChainMissing(string preferred, string names, string offered);

    [LoggerMessage(816, LogLevel.Warning, "The record {Record} was not removed. {Reason}")]
    public partial void CleanupFailed(string record, string reason);

    [LoggerMessage(817, LogLevel.Information,
        "The authority wants the certificate for {Names} renewed between {Start:yyyy-MM-dd HH:mm}Z and {End:yyyy-MM-dd HH:mm}Z; "
        + "next renewal at {Next:yyyy-MM-dd HH:mm}Z.{Explanation}")]
    public partial void WindowChanged(string names, DateTime start, DateTime end, DateTime next, string explanation);

    [LoggerMessage(818, LogLevel.Debug, "The authority did not say when to renew the certificate for {Names}: {Reason}")]
    public partial void WindowUnknown(string names, string reason);

    [LoggerMessage(819, LogLevel.Debug, "The authorization {Url} was not given up: {Reason}")]
    public partial void DeactivationFailed(string url, string reason);

    [LoggerMessage(820, LogLevel.Information,
        "Another process obtains the certificates in {Directory}. This one reads them, and takes over when the other ends.")]
    public partial void Reading(string directory);

    [LoggerMessage(821, LogLevel.Information, "This process obtains the certificates in {Directory} now: the one that did has ended.")]
    public partial void TakenOver(string directory);

    [LoggerMessage(822, LogLevel.Information,
        "The certificate for {Names} was replaced by another process; valid until {NotAfter:yyyy-MM-dd HH:mm}Z.")]
    public partial void Exchanged(string names, DateTime notAfter);

    [LoggerMessage(823, LogLevel.Error, "What is known of the certificate for {Names} was not written: {Reason}")]
    public partial void StateNotWritten(string names, string reason);

    [LoggerMessage(824, LogLevel.Error, "The server did not take over the certificates that changed.")]
    public partial void ChangedFailed(Exception exception);

    [LoggerMessage(825, LogLevel.Error, "The certificates in {Directory} cannot be read. This is tried again every 10 s.")]
    public partial void ReadFailed(Exception exception, string directory);

    [LoggerMessage(826, LogLevel.Error, "The renewal of the certificate for {Names} stopped at a mistake of this program, and goes on.")]
    public partial void LoopFailed(Exception exception, string names);

    [LoggerMessage(827, LogLevel.Warning, "The certificate for {Names} is neither obtained nor renewed. {Reason}")]
    public partial void Unattended(string names, string reason);

    [LoggerMessage(828, LogLevel.Information, "{File} serves names of {Names} until their own certificate is obtained.")]
    public partial void Substituted(string file, string names);

    [LoggerMessage(829, LogLevel.Error,
        "This process cannot try the lock of {Directory}, to take over when the other ends. It tries again every 10 s.")]
    public partial void LockFailed(Exception exception, string directory);

    [LoggerMessage(830, LogLevel.Error, "Files in {Directory} cannot be written or removed now.")]
    public partial void HousekeepingFailed(Exception exception, string directory);

    [LoggerMessage(840, LogLevel.Warning, "Other processes on this folder cannot answer a challenge by {File}: {Reason}")]
    public partial void ChallengeNotShared(string file, string reason);

    [LoggerMessage(841, LogLevel.Warning,
        "Others than its owner may use {Path}, and its mode cannot be changed: {Reason}.")]
    public partial void ModeKept(string path, string reason);
}

/// <summary>Providers belong to the application, and may throw: a line that fails is lost, and no certificate with it.</summary>
internal sealed class NonThrowingLogger(ILogger logger) : ILogger
{
    public IDisposable? BeginScope<TState>(TState state)
        where TState : notnull => logger.BeginScope(state);

    public bool IsEnabled(LogLevel logLevel) => logger.IsEnabled(logLevel);

    public void Log<TState>(
        LogLevel logLevel, EventId eventId, TState state, Exception? exception, Func<TState, Exception?, string> formatter)
    {
        try
        {
            logger.Log(logLevel, eventId, state, exception, formatter);
        }
#pragma warning disable CA1031 // See above: the renewal goes on.
        catch (Exception)
#pragma warning restore CA1031
        {
            // The line is lost.
        }
    }
}
