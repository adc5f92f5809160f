using Millrace.Server.Admin;

namespace Millrace.Server.Tests.Admin;

/// <summary>A heartbeat is odd while its reactor waits in the kernel.</summary>
public class ReactorHealthTests
{
    private readonly ReactorHealth _health = new(reactors: 2);

    [Fact]
    public void A_reactor_in_one_callback_for_long_is_stuck()
    {
        for (int i = 0; i < ReactorHealth.ChecksMax; i++)
        {
            _health.Check([i, 8]);
            Assert.Null(_health.Stuck);
        }

        _health.Check([100, 8]);
        Assert.Equal(1, _health.Stuck);
    }

    [Fact]
    public void A_reactor_that_rests_is_well_however_long()
    {
        for (int i = 0; i < 10 * ReactorHealth.ChecksMax; i++)
        {
            _health.Check([7, 9]);
        }

        Assert.Null(_health.Stuck);
    }

    [Fact]
    public void A_reactor_that_goes_on_is_well_again()
    {
        for (int i = 0; i <= ReactorHealth.ChecksMax; i++)
        {
            _health.Check([8, 7]);
        }

        Assert.Equal(0, _health.Stuck);
        _health.Check([10, 7]);
        Assert.Null(_health.Stuck);
    }
}
