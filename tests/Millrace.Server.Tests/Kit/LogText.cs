using System.Text.RegularExpressions;

namespace Millrace.Server.Tests.Kit;

/// <summary>The text of a server's log.</summary>
internal static partial class LogText
{
    /// <summary>The log without the lines that say that the server drains and, as the last one, that it has stopped.</summary>
    public static string WithoutEnd(string log)
    {
        Assert.Single(Draining().Matches(log));
        Assert.Single(Stopped().Matches(log));
        return Stopped().Replace(Draining().Replace(log, ""), "");
    }

    public static void AssertOrderlyEnd(string log) => Assert.Equal("", WithoutEnd(log));

    [GeneratedRegex(
        @"\S+ info: Millrace\.Server\[5\] Draining: (1 open connection|\d+ open connections); in-flight requests get \d+ s to finish\.\n")]
    private static partial Regex Draining();

    [GeneratedRegex(@"\S+ info: Millrace\.Server\[6\] Stopped\.\n\z")]
    private static partial Regex Stopped();
}
