using Millrace.Acme.Renewal;

namespace Millrace.Acme.Tests.Renewal;

/// <summary>Waits, and clocks that are set meanwhile.</summary>
public sealed class LoopWaitTests : AcmeTest
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(10);

    [Fact]
    public async Task A_turn_that_is_granted_to_a_canceled_loop_is_passed_on()
    {
        var waits = new LoopWaits(TimeProvider.System);
        for (int i = 0; i < 3; i++)
        {
            waits.Enter();
        }

        IDisposable first = await waits.HostsAsync(["a.example"], CancellationToken.None);
        using var cancel = new CancellationTokenSource();
        Task<IDisposable> second = waits.HostsAsync(["a.example"], cancel.Token);

        // Called before the registration of the wait: the turn is granted when the token is canceled already.
        await using CancellationTokenRegistration release = cancel.Token.Register(first.Dispose);
        await cancel.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => second);
        (await waits.HostsAsync(["a.example"], CancellationToken.None).WaitAsync(Patience)).Dispose();
    }

    [Fact]
    public async Task A_clock_that_is_set_back_ends_a_wait_for_a_moment_and_leaves_one_for_a_time()
    {
        var clock = new SettableClock(new DateTimeOffset(2027, 1, 1, 0, 0, 0, TimeSpan.Zero));
        var waits = new LoopWaits(clock);
        waits.Enter();
        waits.Enter();
        Task moment = waits.UntilAsync(clock.GetUtcNow() + TimeSpan.FromHours(1), CancellationToken.None);
        Task time = waits.ForAsync(TimeSpan.FromHours(1), CancellationToken.None);
        clock.Ahead = -TimeSpan.FromDays(1);
        clock.Advance(TimeSpan.FromMinutes(11));
        await moment.WaitAsync(Patience);
        Assert.False(time.IsCompleted);
        clock.Advance(TimeSpan.FromMinutes(49));
        await time.WaitAsync(Patience);
    }

    [Theory]
    [InlineData(-365)]
    [InlineData(365)]
    public async Task A_clock_that_is_set_does_not_stop_retries(int days)
    {
        World.Authority.IsDown = true;
        RunningManager running = World.Start();
        await World.RunUntilAsync(() => running.Only.Failures == 3, TimeSpan.FromHours(1));
        World.Clock.Ahead = TimeSpan.FromDays(days);
        World.Authority.IsDown = false;
        await World.RunUntilAsync(() => running.Only.File is not null, TimeSpan.FromMinutes(30));
        Assert.Single(World.Authority.Orders);
    }

    [Fact]
    public async Task A_clock_that_is_set_back_does_not_prolong_a_validation()
    {
        World.Authority.IsStuck = true;
        World.Authority.Offered = ["http-01"];
        RunningManager running = World.Start();
        await World.RunUntilAsync(() => World.Authority.Count("challenge") == 1, TimeSpan.FromMinutes(1));
        World.Clock.Ahead = -TimeSpan.FromHours(2);
        await World.RunUntilAsync(() => running.Only.Failures == 1, TimeSpan.FromMinutes(6));
    }

    [Fact]
    public async Task A_clock_that_is_set_back_does_not_keep_an_account_that_is_refused()
    {
        RunningManager running = await World.ObtainAsync();
        for (int accounts = 1; accounts < 3; accounts++)
        {
            World.Authority.Accounts[^1].IsValid = false;
            running.Manager.Replace([[$"{accounts}.example"]]);
            await World.RunUntilAsync(() => running.Only.File is not null, Soon);
            Assert.Equal(accounts + 1, World.Authority.Accounts.Count);
            World.Clock.Ahead -= TimeSpan.FromDays(365);
        }
    }

    [Fact]
    public async Task An_order_from_the_future_is_made_again()
    {
        World.Authority.IssuanceTime = TimeSpan.FromDays(1000);
        RunningManager running = World.Start();
        await World.RunUntilAsync(() => World.Authority.Count("finalize") == 1, Soon);
        await World.StopAsync(running);
        World.Clock.Ahead = -TimeSpan.FromDays(30);
        World.Authority.IssuanceTime = TimeSpan.Zero;
        RunningManager next = World.Start();
        await World.RunUntilAsync(() => next.Only.File is not null, Soon);
        Assert.Equal(2, World.Authority.Orders.Count);
    }
}
