using System.Globalization;
using System.Text.Json.Nodes;
using Microsoft.Extensions.Logging;
using Millrace.Acme.Tests.Authority;

namespace Millrace.Acme.Tests.Renewal;

/// <summary>When certificates are renewed, and what failures do.</summary>
public sealed class RenewalTests : AcmeTest
{
    [Fact]
    public async Task A_certificate_is_renewed_at_two_thirds_of_its_lifetime_with_a_new_key()
    {
        RunningManager running = await World.ObtainAsync();
        await running.ChangedAsync();
        string first = File.ReadAllText(running.Only.File!);
        DateTimeOffset issued = World.Now;

        await World.RunUntilAsync(() => World.Authority.Issued.Count() == 2, TimeSpan.FromDays(61));
        Assert.InRange(World.Now - issued, TimeSpan.FromDays(57), TimeSpan.FromDays(60.01));
        await World.RunUntilAsync(() => running.Only.NotAfter > issued + TimeSpan.FromDays(91), Soon);
        await running.ChangedAsync();
        Assert.NotEqual(KeyOf(first), KeyOf(File.ReadAllText(running.Only.File!)));
        Assert.Null(World.Authority.Orders[1].Replaces);
    }

    [Fact]
    public async Task A_certificate_is_renewed_within_the_window_of_the_authority_and_named_as_replaced()
    {
        World.Authority.Window = static certificate => (At(certificate.NotBefore.AddDays(20)), At(certificate.NotBefore.AddDays(22)));
        RunningManager running = await World.ObtainAsync();
        DateTimeOffset issued = World.Now;
        await World.RunUntilAsync(() => World.Authority.Issued.Count() == 2, TimeSpan.FromDays(23));
        Assert.InRange(World.Now - issued, TimeSpan.FromDays(19.9), TimeSpan.FromDays(22.1));
        Assert.Equal(TestIssuer.RenewalId(World.Authority.Orders[0].Certificate!), World.Authority.Orders[1].Replaces);

        // Every six hours.
        Assert.InRange(World.Authority.Count("renewal-info"), 79, 95);
    }

    [Fact]
    public async Task A_window_that_moves_to_the_past_means_now()
    {
        bool isRevoked = false;
        World.Authority.Window = certificate => isRevoked && certificate == World.Authority.Orders[0].Certificate
            ? (At(certificate.NotBefore), At(certificate.NotBefore.AddDays(1)))
            : (At(certificate.NotBefore.AddDays(58)), At(certificate.NotBefore.AddDays(60)));
        RunningManager running = await World.ObtainAsync();
        await World.RunForAsync(TimeSpan.FromDays(5));
        Assert.Single(World.Authority.Orders);
        isRevoked = true;
        await World.RunUntilAsync(() => World.Authority.Issued.Count() == 2, TimeSpan.FromHours(6.1));
        await World.RunForAsync(TimeSpan.FromDays(5));
        Assert.Equal(2, World.Authority.Orders.Count);
    }

    [Fact]
    public async Task A_window_that_is_always_in_the_past_makes_no_storm()
    {
        World.Authority.Window = static certificate => (At(certificate.NotBefore.AddDays(-2)), At(certificate.NotBefore.AddDays(-1)));
        RunningManager running = World.Start();
        await World.RunForAsync(TimeSpan.FromDays(7));
        Assert.InRange(World.Authority.Orders.Count, 2, 8);

        // It is mended: the next renewal is that of the window.
        World.Authority.Window = static certificate => (At(certificate.NotBefore.AddDays(58)), At(certificate.NotBefore.AddDays(60)));
        await World.RunForAsync(TimeSpan.FromDays(15));
        int orders = World.Authority.Orders.Count;
        DateTimeOffset issued = running.Only.NotAfter!.Value - World.Authority.Lifetime;
        await World.RunUntilAsync(() => World.Authority.Orders.Count > orders, TimeSpan.FromDays(61));
        Assert.InRange(World.Now - issued, TimeSpan.FromDays(57), TimeSpan.FromDays(60.1));
    }

    [Fact]
    public async Task An_authority_that_is_down_for_an_hour_costs_few_attempts_and_no_certificate()
    {
        RunningManager running = await World.ObtainAsync();
        string first = File.ReadAllText(running.Only.File!);
        await World.RunUntilAsync(() => running.Only.NextRenewal - World.Now < TimeSpan.FromMinutes(20), TimeSpan.FromDays(61));
        World.Authority.IsDown = true;
        DateTimeOffset down = running.Only.NextRenewal!.Value;
        await World.RunForAsync(down + TimeSpan.FromHours(1) - World.Now);
        Assert.InRange(running.Only.Failures, 5, 7);
        Assert.NotNull(running.Only.LastError);
        Assert.Equal(first, File.ReadAllText(running.Only.File!));
        Assert.All(World.Log.Lines.Where(static line => line.Id == 814), static line => Assert.Equal(LogLevel.Warning, line.Level));

        World.Authority.IsDown = false;
        await World.RunUntilAsync(() => running.Only.Failures == 0, TimeSpan.FromHours(1.1));
        Assert.Equal(2, World.Authority.Orders.Count);
        Assert.Null(running.Only.LastError);
    }

    [Fact]
    public async Task Failures_are_logged_at_a_level_that_rises_with_what_is_left()
    {
        World.Authority.Lifetime = TimeSpan.FromDays(30);
        RunningManager running = await World.ObtainAsync();
        World.Authority.IsDown = true;
        await World.RunForAsync(TimeSpan.FromDays(32));
        LogLevel[] levels = [.. World.Log.Lines.Where(static line => line.Id == 814).Select(static line => line.Level)];
        Assert.Equal([LogLevel.Warning, LogLevel.Error, LogLevel.Critical], levels.Distinct());
        Assert.Equal(levels.Order(), levels);

        string expired = string.Create(CultureInfo.InvariantCulture, $"expired on {running.Only.NotAfter!.Value.UtcDateTime:yyyy-MM-dd HH:mm}Z");
        Assert.Contains(World.Log.Lines, line => line.Text.Contains(expired, StringComparison.Ordinal));

        // Twelve days of at most six hours.
        Assert.InRange(levels.Length, 48, 80);
        Assert.NotNull(running.Only.File);
    }

    [Fact]
    public async Task A_restart_within_a_back_off_does_not_shorten_it()
    {
        World.Authority.IsDown = true;
        RunningManager first = World.Start();
        await World.RunUntilAsync(() => first.Only.Failures == 6, TimeSpan.FromHours(2));
        await World.StopAsync(first);
        World.Authority.IsDown = false;
        DateTimeOffset next = first.Only.NextRenewal!.Value;
        Assert.InRange(next - World.Now, TimeSpan.FromMinutes(24), TimeSpan.FromMinutes(32));
        for (int i = 0; i < 5; i++)
        {
            RunningManager again = World.Start();
            Assert.Equal(6, again.Only.Failures);
            await World.RunForAsync(TimeSpan.FromMinutes(1));
            await World.StopAsync(again);
        }

        Assert.Empty(World.Authority.Operations);
        RunningManager last = World.Start();
        await World.RunUntilAsync(() => last.Only.File is not null, TimeSpan.FromMinutes(40));
        Assert.InRange(World.Now, next, next + TimeSpan.FromMinutes(1));
    }

    [Theory]
    [InlineData("rateLimited", 429, 0, 60)]
    [InlineData("rateLimited", 429, 5 * 3600, 300)]
    [InlineData("serverInternal", 503, 7200, 120)]
    public async Task A_limit_of_the_authority_is_kept(string problem, int status, int retryAfter, int minutes)
    {
        World.Authority.Refuse = operation => operation == "new-order"
            ? new TestProblem(problem, "too many", status) { RetryAfter = retryAfter == 0 ? null : TimeSpan.FromSeconds(retryAfter) }
            : null;
        RunningManager running = World.Start();
        await World.RunUntilAsync(() => running.Only.Failures == 1, Soon);
        Assert.InRange(running.Only.NextRenewal!.Value - World.Now, TimeSpan.FromMinutes(minutes) - Soon, TimeSpan.FromMinutes(minutes + 1));
        Assert.Contains("too many", running.Only.LastError, StringComparison.Ordinal);
    }

    // RFC 8555, section 6.6; RFC 9110, section 10.2.3.
    [Theory]
    [InlineData("new-order", "rateLimited", 429, 3)]
    [InlineData("authorization", "rateLimited", 429, 3)]
    [InlineData("authorization", "serverInternal", 503, 3)]
    [InlineData("challenge", "serverInternal", 503, 3)]
    [InlineData("finalize", "rateLimited", 429, 3)]
    [InlineData("order", "serverInternal", 503, 3)]
    [InlineData("certificate", "serverInternal", 503, 3)]
    [InlineData("certificate", "serverInternal", 503, 90)]
    public async Task What_is_refused_for_some_hours_is_asked_for_again_when_they_are_over(
        string refused, string problem, int status, int hours)
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        DateTimeOffset? until = null;
        var early = new List<string>();
        world.Authority.Refuse = operation =>
        {
            if (until is null && operation == refused)
            {
                until = world.Now + TimeSpan.FromHours(hours);
                return new TestProblem(problem, "later", status) { RetryAfter = TimeSpan.FromHours(hours) };
            }

            if (until is { } end && world.Now < end)
            {
                early.Add(operation);
            }

            return null;
        };
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.File is not null, TimeSpan.FromHours(hours + 1));
        Assert.Empty(early);
        Assert.InRange(world.Now, until!.Value, until.Value + TimeSpan.FromMinutes(2));
        Assert.Single(world.Log.Lines, static line => line.Id == 814);
        Assert.Single(world.Authority.Orders);
    }

    [Fact]
    public async Task A_request_that_is_never_answered_ends()
    {
        var reached = new TaskCompletionSource();
        var answer = new TaskCompletionSource();
        World.Authority.Delay = operation =>
        {
            if (operation != "new-order")
            {
                return Task.CompletedTask;
            }

            reached.TrySetResult();
            return answer.Task;
        };
        RunningManager running = World.Start();
        await reached.Task.WaitAsync(TimeSpan.FromSeconds(30));
        World.Clock.Advance(TimeSpan.FromMinutes(2));
        await World.RunUntilAsync(() => running.Only.Failures == 1, Soon);
        Assert.Contains("does not answer", running.Only.LastError, StringComparison.Ordinal);
        answer.SetResult();
    }

    [Fact]
    public async Task Errors_while_waiting_for_the_authority_do_not_end_an_attempt()
    {
        int asked = 0;
        World.Authority.Refuse = operation => operation is "order" or "authorization" && ++asked is > 1 and < 5
            ? new TestProblem("serverInternal", "trouble", 500)
            : null;
        RunningManager running = await World.ObtainAsync();
        Assert.Equal(0, running.Only.Failures);
    }

    [Fact]
    public async Task A_clock_that_jumps_forward_makes_no_storm()
    {
        RunningManager running = await World.ObtainAsync();
        await World.WhenIdleAsync();
        World.Clock.Advance(TimeSpan.FromDays(400));
        await World.RunForAsync(TimeSpan.FromDays(1));
        Assert.Equal(2, World.Authority.Orders.Count);
        Assert.Equal(0, running.Only.Failures);
    }

    [Fact]
    public async Task A_state_from_the_future_does_not_stop_renewal()
    {
        World.Authority.IsDown = true;
        RunningManager running = World.Start();
        await World.RunUntilAsync(() => running.Only.Failures == 2, TimeSpan.FromHours(1));
        await World.StopAsync(running);
        string file = Directory.GetFiles(World.Store, "renewal.json", SearchOption.AllDirectories).Single();
        File.WriteAllText(file, File.ReadAllText(file).Replace("\"2027-", "\"2037-", StringComparison.Ordinal));
        World.Authority.IsDown = false;
        RunningManager again = World.Start();
        await World.RunUntilAsync(() => again.Only.File is not null, TimeSpan.FromMinutes(5));
    }

    [Fact]
    public async Task A_window_that_was_to_be_asked_for_in_the_far_future_is_asked_for_at_once()
    {
        World.Authority.Window = static certificate => (At(certificate.NotBefore.AddDays(20)), At(certificate.NotBefore.AddDays(22)));
        RunningManager first = await World.ObtainAsync();
        await World.StopAsync(first);
        string file = Directory.GetFiles(World.Store, "renewal.json", SearchOption.AllDirectories).Single();
        JsonNode json = JsonNode.Parse(File.ReadAllText(file))!;
        json["askAgain"] = "9990-01-01T00:00:00+00:00";
        File.WriteAllText(file, json.ToJsonString());
        int asked = World.Authority.Count("renewal-info");
        World.Start();
        await World.RunForAsync(TimeSpan.FromDays(1));
        Assert.InRange(World.Authority.Count("renewal-info") - asked, 4, 6);
    }

    [Fact]
    public async Task Names_that_have_changed_are_obtained_at_once_while_the_old_certificate_is_in_use()
    {
        RunningManager first = await World.ObtainAsync();
        await World.StopAsync(first);
        RunningManager second = World.Start(options => options with { Certificates = [["example.org", "www.example.org"]] });
        Assert.Equal(first.Only.File, second.Only.File);
        await World.RunUntilAsync(() => World.Authority.Issued.Count() == 2, Soon);
        await World.RunForAsync(TimeSpan.FromDays(1));
        Assert.Equal(["example.org", "www.example.org"], World.Authority.Orders[^1].Names);
        Assert.Equal(2, World.Authority.Orders.Count);
        Assert.Contains(World.Log.Lines, line => line.Id == 828 && line.Text.StartsWith(first.Only.File!, StringComparison.Ordinal));
    }

    [Fact]
    public async Task Another_authority_is_asked_at_once_while_the_old_certificate_is_in_use()
    {
        RunningManager first = await World.ObtainAsync();
        await World.StopAsync(first);
        await using TestAuthority other = await TestAuthority.StartAsync(World.Clock);
        string roots = Path.Combine(World.Folder, "other.pem");
        File.WriteAllText(roots, other.Issuer.Root.ExportCertificatePem());
        RunningManager second = World.Start(options => options with { DirectoryUrl = other.DirectoryUrl, RootsFile = roots });
        other.Tables.Add(second.Manager.Challenges);
        Assert.NotNull(second.Only.File);
        await World.RunUntilAsync(() => other.Issued.Any(), Soon);
        await World.RunForAsync(TimeSpan.FromDays(1));
        Assert.Single(other.Orders);
        Assert.Single(World.Authority.Orders);
        Assert.Equal(2, Directory.GetFiles(World.Store, "account.key", SearchOption.AllDirectories).Length);
    }

    private static DateTimeOffset At(DateTime local) => new(local);

    private static string KeyOf(string pem) => pem[pem.IndexOf("-----BEGIN PRIVATE", StringComparison.Ordinal)..];
}
