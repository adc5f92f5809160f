using Millrace.Server.Serving;

namespace Millrace.Server.Https;

/// <summary>
/// Logs a warning when a certificate in use has 30, 14, 7, 3 or 1 days left, and when it has expired: once each, at the first check within
/// them. A certificate that replaces another starts again. Of those that this program obtains, only the days count
/// that are less than it leaves when it renews. Checks are on the clock's timer thread, one after the other.
/// </summary>
internal sealed class ExpiryWatch : IDisposable
{
    private static readonly int[] DaysLeft = [30, 14, 7, 3, 1, 0];
    private static readonly TimeSpan Period = TimeSpan.FromHours(1);

    private readonly Func<IReadOnlyList<ServedCertificate>> _current;
    private readonly ServerLog _log;
    private readonly TimeProvider _clock;
    private readonly ITimer _timer;
    private readonly Lock _checking = new();
    private Dictionary<(string File, DateTimeOffset Expiry), int> _logged = [];

    /// <param name="current">Returns the certificates in use; any thread.</param>
    /// <param name="log">Receives the warnings.</param>
    /// <param name="clock">Scripted in tests.</param>
    public ExpiryWatch(Func<IReadOnlyList<ServedCertificate>> current, ServerLog log, TimeProvider clock)
    {
        _current = current;
        _log = log;
        _clock = clock;
        _timer = clock.CreateTimer(_ => Check(), null, TimeSpan.Zero, Period);
    }

    public void Dispose() => _timer.Dispose();

    private void Check()
    {
        lock (_checking)
        {
            var logged = new Dictionary<(string, DateTimeOffset), int>();
            DateTimeOffset now = _clock.GetUtcNow();
            foreach (ServedCertificate certificate in _current())
            {
                TimeSpan left = certificate.Expiry - now;
                int reached = DaysLeft.LastOrDefault(days => left <= TimeSpan.FromDays(days) && certificate.IsWarnedAt(days), int.MaxValue);
                bool isKnown = _logged.TryGetValue((certificate.File, certificate.Expiry), out int before);
                logged[(certificate.File, certificate.Expiry)] = reached;
                if (reached >= (isKnown ? before : int.MaxValue))
                {
                    continue;
                }

                if (reached > 0)
                {
                    _log.CertificateDue(
                        certificate.File, certificate.Hosts, certificate.DaysLeft(now), certificate.Date, certificate.Remedy);
                }
                else if (isKnown)
                {
                    // One that had expired before it was loaded was logged then.
                    _log.CertificateExpired(certificate.File, certificate.Hosts, certificate.Date, certificate.Remedy);
                }
            }

            _logged = logged;
        }
    }
}
