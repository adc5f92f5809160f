using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Unit;

/// <summary>What each connection can cause is logged at a limited rate: thousands of connections do not fill a disk.</summary>
public class EngineLogTests
{
    private const int Floods = 1_000;

    [Theory]
    [InlineData(300)]
    [InlineData(301)]
    [InlineData(107)]
    public void What_a_client_causes_at_will_is_told_of_a_few_times(int id)
    {
        using var lines = new LogCapture();
        var log = new EngineLog(lines);
        for (int i = 0; i < Floods; i++)
        {
            var error = new InvalidOperationException($"{i}");
            Action<Exception> report = id switch
            {
                300 => log.HandlerFailed,
                301 => log.FilterFailed,
                _ => log.CallbackOwnerFailed,
            };
            report(error);
        }

        // Ten in ten seconds, and this takes less; or as many again, where it took some on a busy machine.
        Assert.InRange(lines.Count(id), 10, 50);
        Assert.Equal("0", lines.Entries.First().Error!.Message);
    }
}
