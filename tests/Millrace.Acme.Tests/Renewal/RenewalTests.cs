using Microsoft.Extensions.Logging;
using Millrace.Acme.Tests.Authority;

namespace Millrace.Acme.Tests.Renewal;

/// <summary>When certificates are renewed, and what failures do.</summary>
public sealed class RenewalTests
{
    private static readonly TimeSpan Soon = TimeSpan.FromMinutes(1);

    [Fact]
    public async Task A_certificate_is_renewed_at_two_thirds_of_its_lifetime_with_a_new_key()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.File is not null, Soon);
        await running.ChangedAsync();
        string first = File.ReadAllText(running.Only.File!);
        DateTimeOffset issued = world.Now;

        await world.RunUntilAsync(() => world.Authority.Issued.Count() == 2, TimeSpan.FromDays(61));
        Assert.InRange(world.Now - issued, TimeSpan.FromDays(57), TimeSpan.FromDays(60.01));
        await world.RunUntilAsync(() => running.Only.NotAfter > issued + TimeSpan.FromDays(91), Soon);
        await running.ChangedAsync();
        Assert.NotEqual(KeyOf(first), KeyOf(File.ReadAllText(running.Only.File!)));
        Assert.Null(world.Authority.Orders[1].Replaces);
    }

    [Fact]
    public async Task A_certificate_is_renewed_within_the_window_of_the_authority_and_named_as_replaced()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        world.Authority.Window = static certificate => (At(certificate.NotBefore.AddDays(20)), At(certificate.NotBefore.AddDays(22)));
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.File is not null, Soon);
        DateTimeOffset issued = world.Now;
        await world.RunUntilAsync(() => world.Authority.Issued.Count() == 2, TimeSpan.FromDays(23));
        Assert.InRange(world.Now - issued, TimeSpan.FromDays(19.9), TimeSpan.FromDays(22.1));
        Assert.Equal(TestIssuer.RenewalId(world.Authority.Orders[0].Certificate!), world.Authority.Orders[1].Replaces);

        // Every six hours.
        Assert.InRange(world.Authority.Count("renewal-info"), 79, 95);
    }

    [Fact]
    public async Task A_window_that_moves_to_the_past_means_now()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        bool isRevoked = false;
        world.Authority.Window = certificate => isRevoked && certificate == world.Authority.Orders[0].Certificate
            ? (At(certificate.NotBefore), At(certificate.NotBefore.AddDays(1)))
            : (At(certificate.NotBefore.AddDays(58)), At(certificate.NotBefore.AddDays(60)));
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.File is not null, Soon);
        await world.RunForAsync(TimeSpan.FromDays(5));
        Assert.Single(world.Authority.Orders);
        isRevoked = true;
        await world.RunUntilAsync(() => world.Authority.Issued.Count() == 2, TimeSpan.FromHours(6.1));
        await world.RunForAsync(TimeSpan.FromDays(5));
        Assert.Equal(2, world.Authority.Orders.Count);
    }

    [Fact]
    public async Task A_window_that_is_always_in_the_past_makes_no_storm()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        world.Authority.Window = static certificate => (At(certificate.NotBefore.AddDays(-2)), At(certificate.NotBefore.AddDays(-1)));
        world.Start();
        await world.RunForAsync(TimeSpan.FromHours(10));
        Assert.InRange(world.Authority.Orders.Count, 2, 11);
    }

    [Fact]
    public async Task An_authority_that_is_down_for_an_hour_costs_few_attempts_and_no_certificate()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.File is not null, Soon);
        string first = File.ReadAllText(running.Only.File!);
        await world.RunUntilAsync(() => running.Only.NextRenewal - world.Now < TimeSpan.FromMinutes(20), TimeSpan.FromDays(61));
        world.Authority.IsDown = true;
        DateTimeOffset down = running.Only.NextRenewal!.Value;
        await world.RunForAsync(down + TimeSpan.FromHours(1) - world.Now);
        Assert.InRange(running.Only.Failures, 5, 7);
        Assert.NotNull(running.Only.LastError);
        Assert.Equal(first, File.ReadAllText(running.Only.File!));
        Assert.All(world.Log.Lines.Where(static line => line.Id == 814), static line => Assert.Equal(LogLevel.Warning, line.Level));

        world.Authority.IsDown = false;
        await world.RunUntilAsync(() => running.Only.Failures == 0, TimeSpan.FromHours(1.1));
        Assert.Equal(2, world.Authority.Orders.Count);
        Assert.Null(running.Only.LastError);
    }

    [Fact]
    public async Task Failures_are_logged_at_a_level_that_rises_with_what_is_left()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.File is not null, Soon);
        world.Authority.IsDown = true;
        await world.RunForAsync(TimeSpan.FromDays(92));
        LogLevel[] levels = [.. world.Log.Lines.Where(static line => line.Id == 814).Select(static line => line.Level)];
        Assert.Equal([LogLevel.Warning, LogLevel.Error, LogLevel.Critical], levels.Distinct());
        Assert.Equal(levels.Order(), levels);

        // 30 days of at most six hours.
        Assert.InRange(levels.Length, 120, 175);
        Assert.NotNull(running.Only.File);
    }

    [Fact]
    public async Task A_restart_within_a_back_off_does_not_shorten_it()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        world.Authority.IsDown = true;
        RunningManager first = world.Start();
        await world.RunUntilAsync(() => first.Only.Failures == 6, TimeSpan.FromHours(2));
        await world.StopAsync(first);
        world.Authority.IsDown = false;
        DateTimeOffset next = first.Only.NextRenewal!.Value;
        Assert.InRange(next - world.Now, TimeSpan.FromMinutes(24), TimeSpan.FromMinutes(32));
        for (int i = 0; i < 5; i++)
        {
            RunningManager again = world.Start();
            Assert.Equal(6, again.Only.Failures);
            await world.RunForAsync(TimeSpan.FromMinutes(1));
            await world.StopAsync(again);
        }

        Assert.Empty(world.Authority.Operations);
        RunningManager last = world.Start();
        await world.RunUntilAsync(() => last.Only.File is not null, TimeSpan.FromMinutes(40));
        Assert.InRange(world.Now, next, next + TimeSpan.FromMinutes(1));
    }

    [Theory]
    [InlineData("rateLimited", 429, 0, 60)]
    [InlineData("rateLimited", 429, 5 * 3600, 300)]
    [InlineData("serverInternal", 503, 7200, 120)]
    public async Task A_limit_of_the_authority_is_kept(string problem, int status, int retryAfter, int minutes)
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        world.Authority.Refuse = operation => operation == "new-order"
            ? new TestProblem(problem, "too many", status) { RetryAfter = retryAfter == 0 ? null : TimeSpan.FromSeconds(retryAfter) }
            : null;
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.Failures == 1, Soon);
        Assert.InRange(running.Only.NextRenewal!.Value - world.Now, TimeSpan.FromMinutes(minutes) - Soon, TimeSpan.FromMinutes(minutes + 1));
        Assert.Contains("too many", running.Only.LastError, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_request_that_is_never_answered_ends()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        var reached = new TaskCompletionSource();
        var answer = new TaskCompletionSource();
        world.Authority.Delay = operation =>
        {
            if (operation != "new-order")
            {
                return Task.CompletedTask;
            }

            reached.TrySetResult();
            return answer.Task;
        };
        RunningManager running = world.Start();
        await reached.Task.WaitAsync(TimeSpan.FromSeconds(30));
        world.Clock.Advance(TimeSpan.FromMinutes(2));
        await world.RunUntilAsync(() => running.Only.Failures == 1, Soon);
        Assert.Contains("does not answer", running.Only.LastError, StringComparison.Ordinal);
        answer.SetResult();
    }

    [Fact]
    public async Task Errors_while_waiting_for_the_authority_do_not_end_an_attempt()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        int asked = 0;
        world.Authority.Refuse = operation => operation is "order" or "authorization" && ++asked is > 1 and < 5
            ? new TestProblem("serverInternal", "trouble", 500)
            : null;
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.File is not null, Soon);
        Assert.Equal(0, running.Only.Failures);
    }

    [Fact]
    public async Task A_clock_that_jumps_forward_makes_no_storm()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.File is not null, Soon);
        await world.WhenIdleAsync();
        world.Clock.Advance(TimeSpan.FromDays(400));
        await world.RunForAsync(TimeSpan.FromDays(1));
        Assert.Equal(2, world.Authority.Orders.Count);
        Assert.Equal(0, running.Only.Failures);
    }

    [Fact]
    public async Task A_state_from_the_future_does_not_stop_renewal()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        world.Authority.IsDown = true;
        RunningManager running = world.Start();
        await world.RunUntilAsync(() => running.Only.Failures == 2, TimeSpan.FromHours(1));
        await world.StopAsync(running);
        string file = Directory.GetFiles(world.Store, "renewal.json", SearchOption.AllDirectories).Single();
        File.WriteAllText(file, File.ReadAllText(file).Replace("\"2027-", "\"2037-", StringComparison.Ordinal));
        world.Authority.IsDown = false;
        RunningManager again = world.Start();
        await world.RunUntilAsync(() => again.Only.File is not null, TimeSpan.FromMinutes(5));
    }

    [Fact]
    public async Task Names_that_have_changed_are_obtained_at_once_while_the_old_certificate_is_in_use()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        RunningManager first = world.Start();
        await world.RunUntilAsync(() => first.Only.File is not null, Soon);
        await world.StopAsync(first);
        RunningManager second = world.Start(options => options with { Certificates = [["example.org", "www.example.org"]] });
        Assert.Equal(first.Only.File, second.Only.File);
        await world.RunUntilAsync(() => world.Authority.Issued.Count() == 2, Soon);
        await world.RunForAsync(TimeSpan.FromDays(1));
        Assert.Equal(["example.org", "www.example.org"], world.Authority.Orders[^1].Names);
        Assert.Equal(2, world.Authority.Orders.Count);
        Assert.Contains(world.Log.Lines, static line => line.Id == 805 && line.Text.Contains("the names have changed", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Another_authority_is_asked_at_once_while_the_old_certificate_is_in_use()
    {
        await using AcmeWorld world = await AcmeWorld.CreateAsync();
        RunningManager first = world.Start();
        await world.RunUntilAsync(() => first.Only.File is not null, Soon);
        await world.StopAsync(first);
        await using TestAuthority other = await TestAuthority.StartAsync(world.Clock);
        string roots = Path.Combine(world.Folder, "other.pem");
        File.WriteAllText(roots, other.Issuer.Root.ExportCertificatePem());
        RunningManager second = world.Start(options => options with { DirectoryUrl = other.DirectoryUrl, RootsFile = roots });
        other.Tables.Add(second.Manager.Challenges);
        Assert.NotNull(second.Only.File);
        await world.RunUntilAsync(() => other.Issued.Any(), Soon);
        await world.RunForAsync(TimeSpan.FromDays(1));
        Assert.Single(other.Orders);
        Assert.Single(world.Authority.Orders);
        Assert.Equal(2, Directory.GetFiles(world.Store, "account.key", SearchOption.AllDirectories).Length);
    }

    private static DateTimeOffset At(DateTime local) => new(local);

    private static string KeyOf(string pem) => pem[pem.IndexOf("-----BEGIN PRIVATE", StringComparison.Ordinal)..];
}
