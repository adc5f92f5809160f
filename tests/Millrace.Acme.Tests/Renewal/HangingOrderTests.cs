using Microsoft.Extensions.Logging;

namespace Millrace.Acme.Tests.Renewal;

/// <summary>Orders that lead nowhere: continued a few times, then given up; and outages, which give up none.</summary>
public sealed class HangingOrderTests : AcmeTest
{
    [Theory]
    [InlineData("processing")]
    [InlineData("pending")]
    [InlineData("malformed")]
    [InlineData("500")]
    public async Task An_order_that_leads_nowhere_is_given_up_after_some_attempts(string fault)
    {
        World.Authority.OrderFault = order => order.Id == 0 ? fault : null;
        RunningManager running = World.Start();
        await World.RunUntilAsync(() => running.Only.File is not null, TimeSpan.FromHours(2));
        Assert.Equal(2, World.Authority.Orders.Count);
        Assert.Equal(3, World.Log.Lines.Count(static line => line.Id == 814));
        Assert.Single(World.Log.Lines, static line => line.Id == 812);
    }

    [Theory]
    [Trait("Duration", "Full")]
    [InlineData("processing")]
    [InlineData("pending")]
    [InlineData("malformed")]
    [InlineData("500")]
    public async Task An_authority_all_of_whose_orders_hang_gets_few(string fault)
    {
        World.Authority.OrderFault = _ => fault;
        RunningManager running = World.Start();
        await World.RunForAsync(TimeSpan.FromDays(3));
        Assert.InRange(World.Authority.Orders.Count, 3, 8);
        Assert.NotNull(running.Only.LastError);
        World.Authority.OrderFault = static _ => null;
        await World.RunUntilAsync(() => running.Only.File is not null, TimeSpan.FromHours(7));
        Assert.Equal(0, running.Only.Failures);
    }

    [Theory]
    [InlineData("away")]
    [InlineData("503")]
    [InlineData("429")]
    public async Task An_outage_gives_up_no_order(string kind)
    {
        World.Authority.IssuanceTime = TimeSpan.FromMinutes(10);
        RunningManager running = World.Start();
        await World.RunUntilAsync(() => World.Authority.Count("finalize") == 1, Soon);
        World.Authority.IsDown = kind == "away";
        World.Authority.Refuse = _ => kind == "away" ? null : new Authority.TestProblem("serverInternal", "busy", int.Parse(kind));
        await World.RunForAsync(TimeSpan.FromDays(2));
        Assert.True(running.Only.Failures > 5);
        World.Authority.IsDown = false;
        World.Authority.Refuse = static _ => null;
        await World.RunUntilAsync(() => running.Only.File is not null, TimeSpan.FromHours(7));
        Assert.Single(World.Authority.Orders);
    }

    [Fact]
    public async Task A_restart_does_not_forget_how_often_an_order_led_nowhere()
    {
        World.Authority.OrderFault = static order => order.Id == 0 ? "malformed" : null;
        for (int failures = 1; failures < 3; failures++)
        {
            RunningManager running = World.Start();
            await World.RunUntilAsync(() => running.Only.Failures == failures, TimeSpan.FromHours(1));
            await World.StopAsync(running);
        }

        RunningManager last = World.Start();
        await World.RunUntilAsync(() => last.Only.File is not null, TimeSpan.FromHours(2));
        Assert.Equal(2, World.Authority.Orders.Count);
        Assert.Equal(3, World.Log.Lines.Count(static line => line is { Id: 814, Level: LogLevel.Error }));
    }
}
