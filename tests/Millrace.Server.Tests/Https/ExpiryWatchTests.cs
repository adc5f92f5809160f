using Millrace.Server.Https;
using Millrace.Server.Serving;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Https;

/// <summary>The warnings before a certificate expires, on a scripted clock.</summary>
public class ExpiryWatchTests
{
    private static readonly DateTimeOffset Start = new(2026, 1, 1, 0, 0, 0, TimeSpan.Zero);

    private readonly ScriptedClock _clock = new(Start);
    private readonly LogLines _log = new();

    [Fact]
    public void Each_threshold_is_logged_once()
    {
        using ExpiryWatch watch = Watch(Certificate("a.example", days: 90));
        var days = new List<double>();
        var lines = new List<string>();
        for (int hour = 0; hour < 24 * 100; hour++)
        {
            _clock.Advance(TimeSpan.FromHours(1));
            foreach (string line in _log.Take())
            {
                days.Add((Start.AddDays(90) - _clock.GetUtcNow()).TotalDays);
                lines.Add(line);
            }
        }

        Assert.Equal([30, 14, 7, 3, 1, 0], days);
        Assert.Equal(
            "Warning: The certificate a.example.pem (a.example) expires in 30 days, on 2026-04-01. Renew it, then send SIGHUP.", lines[0]);
        Assert.Equal("Warning: The certificate a.example.pem (a.example) expires in 1 day, on 2026-04-01. Renew it, then send SIGHUP.", lines[4]);
        Assert.Equal(
            "Error: The certificate a.example.pem (a.example) expired on 2026-04-01: clients refuse it. Renew it, then send SIGHUP.", lines[5]);
    }

    [Theory]
    [InlineData(31, null)]
    [InlineData(29, "expires in 29 days")]
    [InlineData(9.5, "expires in 10 days")]
    [InlineData(0.5, "expires in 1 day,")]
    [InlineData(-1, null)]
    public void At_the_start_only_the_nearest_threshold_is_logged(double days, string? words)
    {
        using ExpiryWatch watch = Watch(Certificate("a.example", days));
        _clock.Advance(TimeSpan.Zero);

        IReadOnlyList<string> lines = _log.Take();
        Assert.Equal(words is null ? 0 : 1, lines.Count);
        Assert.All(lines, line => Assert.Contains(words!, line, StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(90, 22, null)]
    [InlineData(90, 13, "expires in 13 days")]
    [InlineData(6, 2, null)]
    [InlineData(6, 0.9, "expires in 1 day,")]
    public void One_that_the_server_obtains_is_due_when_its_renewal_is_late(double lifetime, double left, string? words)
    {
        DateTimeOffset expiry = Start.AddDays(left);
        var certificate = new ServedCertificate(
            "a.example.pem", ["a.example"], expiry, expiry.AddDays(-lifetime), CertificateOrigin.Authority);
        using ExpiryWatch watch = Watch(certificate);
        _clock.Advance(TimeSpan.Zero);

        IReadOnlyList<string> lines = _log.Take();
        Assert.Equal(words is null ? 0 : 1, lines.Count);
        Assert.All(lines, line => Assert.Contains(words!, line, StringComparison.Ordinal));
    }

    [Fact]
    public void A_renewed_certificate_starts_again()
    {
        IReadOnlyList<ServedCertificate> current = [Certificate("a.example", days: 5), Certificate("b.example", days: 200)];
        using var watch = new ExpiryWatch(() => current, new ServerLog(_log), _clock);
        _clock.Advance(TimeSpan.Zero);
        Assert.Contains("expires in 5 days", Assert.Single(_log.Take()), StringComparison.Ordinal);

        current = [Certificate("a.example", days: 90), current[1]];
        _clock.Advance(TimeSpan.FromDays(59));
        Assert.Empty(_log.Take());
        _clock.Advance(TimeSpan.FromDays(2));
        Assert.Contains("(a.example) expires in 30 days", Assert.Single(_log.Take()), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(94.5, "is valid until 2026-04-05 (95 days)")]
    [InlineData(1.5, "is valid until 2026-01-02 (2 days)")]
    [InlineData(-3, "expired on 2025-12-29")]
    public void Validity_has_its_date_and_the_days_left(double days, string expected) =>
        Assert.Equal(expected, Certificate("a.example", days).Validity(Start));

    private ExpiryWatch Watch(params ServedCertificate[] certificates) => new(() => certificates, new ServerLog(_log), _clock);

    private static ServedCertificate Certificate(string host, double days) => new($"{host}.pem", [host], Start.AddDays(days));
}
