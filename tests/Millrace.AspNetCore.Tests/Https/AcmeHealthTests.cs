using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Millrace.AspNetCore.Tests.Https.Kit;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Https;

/// <summary>The health check of obtained certificates.</summary>
public class AcmeHealthTests
{
    [Fact]
    public async Task A_missing_or_expired_certificate_is_unhealthy_and_a_failed_renewal_degraded()
    {
        using var folder = new AcmeFolder();
        folder.Issue("a.example");
        await using RunningApplication application = await StartAsync(folder, static checks => checks.AddMillraceAcme());
        (HealthStatus status, string? text, _) = await CheckAsync(application);
        Assert.Equal(HealthStatus.Unhealthy, status);
        Assert.Equal("There is no certificate for b.example yet.", text);

        folder.Issue("b.example");
        await folder.ReadUntilAsync(async () => (await CheckAsync(application)).Status == HealthStatus.Healthy);
        (_, text, IReadOnlyDictionary<string, object> data) = await CheckAsync(application);
        Assert.Null(text);
        Assert.Equal(["a.example", "b.example"], data.Keys.Order());
        var facts = (IReadOnlyDictionary<string, object?>)data["b.example"];
        Assert.Equal(["expiry", "lastError", "nextRenewal"], facts.Keys.Order());
        Assert.InRange((DateTimeOffset)facts["expiry"]!, DateTimeOffset.UtcNow.AddDays(29), DateTimeOffset.UtcNow.AddDays(31));
        Assert.InRange((DateTimeOffset)facts["nextRenewal"]!, DateTimeOffset.UtcNow.AddDays(15), DateTimeOffset.UtcNow.AddDays(25));
        Assert.Null(facts["lastError"]);

        folder.NoteFailure("b.example", "The authority is down.");
        await folder.ReadUntilAsync(async () => (await CheckAsync(application)).Status == HealthStatus.Degraded);
        (_, text, data) = await CheckAsync(application);
        Assert.Equal("The certificate for b.example could not be renewed: The authority is down.", text);
        Assert.Equal("The authority is down.", ((IReadOnlyDictionary<string, object?>)data["b.example"])["lastError"]);

        folder.Clock.Advance(TimeSpan.FromDays(31));
        (status, text, _) = await CheckAsync(application);
        Assert.Equal(HealthStatus.Unhealthy, status);
        Assert.StartsWith("The certificate for a.example expired at ", text, StringComparison.Ordinal);
        Assert.Contains("The certificate for b.example expired at ", text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_application_chooses_what_a_missing_certificate_is()
    {
        using var folder = new AcmeFolder();
        await using RunningApplication application = await StartAsync(
            folder, static checks => checks.AddMillraceAcme("certificates", HealthStatus.Degraded, ["ready"]));

        Assert.Equal(HealthStatus.Degraded, (await CheckAsync(application, "certificates")).Status);
    }

    [Fact]
    public async Task An_application_that_obtains_nothing_is_healthy()
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            TransportKind.Sockets,
            static _ => Task.CompletedTask,
            host: static host => host.ConfigureServices(static services => services.AddHealthChecks().AddMillraceAcme()));

        Assert.Equal(HealthStatus.Healthy, (await CheckAsync(application)).Status);
    }

    private static Task<RunningApplication> StartAsync(AcmeFolder folder, Action<IHealthChecksBuilder> checks) =>
        AcmeApplication.StartAsync(
            AcmeTls.Kestrel, folder.Options("a.example", "b.example"), folder.Clock, services => checks(services.AddHealthChecks()));

    private static async Task<(HealthStatus Status, string? Text, IReadOnlyDictionary<string, object> Data)> CheckAsync(
        RunningApplication application, string name = "acme")
    {
        HealthReport report = await application.Services.GetRequiredService<HealthCheckService>().CheckHealthAsync();
        HealthReportEntry entry = report.Entries[name];
        return (entry.Status, entry.Description, entry.Data);
    }
}
