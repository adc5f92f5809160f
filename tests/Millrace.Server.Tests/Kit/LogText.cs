using System.Text.RegularExpressions;

namespace Millrace.Server.Tests.Kit;

/// <summary>The text of a server's log.</summary>
internal static partial class LogText
{
    /// <summary>The log without its last lines, which must say that the server drained and stopped.</summary>
    public static string WithoutEnd(string log)
    {
        Match end = OrderlyEnd().Match(log);
        Assert.True(end.Success, log);
        return log[..end.Index];
    }

    public static void AssertOrderlyEnd(string log) => Assert.Equal("", WithoutEnd(log));

    [GeneratedRegex(
        @"\S+ info: Millrace\.Server\[5\] Draining: (1 open connection|\d+ open connections); requests in flight get \d+ s to finish\.\n"
            + @"\S+ info: Millrace\.Server\[6\] Stopped after \d+\.\d s\.\n\z")]
    private static partial Regex OrderlyEnd();
}
