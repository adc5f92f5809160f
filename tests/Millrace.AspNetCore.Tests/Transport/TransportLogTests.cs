using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Transport;

namespace Millrace.AspNetCore.Tests.Transport;

/// <summary>What each connection can cause is logged at a limited rate: thousands of connections do not fill a disk.</summary>
public class TransportLogTests
{
    private const int Floods = 1_000;

    [Theory]
    [InlineData("Unexpected")]
    [InlineData("ReactorWaitFailed")]
    public void What_a_client_causes_at_will_is_logged_a_few_times(string name)
    {
        using var lines = new LogCapture();
        var log = new TransportLog(lines.CreateLogger(TransportLog.Category));
        for (int i = 0; i < Floods; i++)
        {
            if (name == "Unexpected")
            {
                log.Unexpected("sending", $"{i}", new InvalidOperationException("On purpose."));
            }
            else
            {
                log.ReactorWaitFailed($"{i}", "GET /", "waits.");
            }
        }

        // Ten in ten seconds, and this takes less; or as many again, where it took some on a busy machine.
        Assert.InRange(lines.Entries.Count(entry => entry.Event.Name == name), 10, 50);
        Assert.True(lines.Has(name));
    }
}
