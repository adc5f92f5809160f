using Millrace.Engine.Connections;

namespace Millrace.Engine.Tests.Connections;

/// <summary>The table of what may follow what.</summary>
public class ConnectionPhaseTests
{
    private static readonly ConnectionPhase[] All = Enum.GetValues<ConnectionPhase>();

    [Fact]
    public void A_connection_moves_forward_only_and_is_free_after_its_end()
    {
        foreach (ConnectionPhase phase in All)
        {
            ConnectionPhase[] followers = [.. All.Where(next => phase.MayBecome(next))];
            Assert.NotEmpty(followers);
            Assert.All(followers, next => Assert.True(next > phase || (phase, next) == (ConnectionPhase.Closed, ConnectionPhase.Free)));
        }
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void Whatever_is_served_can_be_closed_at_any_time(bool isLast)
    {
        ConnectionPhase[] open = [ConnectionPhase.Serving, ConnectionPhase.Flushing, ConnectionPhase.Lingering];
        Assert.All(open, phase => Assert.Equal(!isLast, phase.MayBecome(isLast ? ConnectionPhase.Closed : ConnectionPhase.Closing)));
    }
}
