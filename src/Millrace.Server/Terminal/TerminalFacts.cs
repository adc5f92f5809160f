namespace Millrace.Server.Terminal;

/// <summary>What is known of the terminal, if there is one.</summary>
internal static class TerminalFacts
{
    private const int ColumnsUnknown = 80;

    /// <summary>As wide as it says; some say 0.</summary>
    public static int Columns => Console.WindowWidth is > 0 and int columns ? columns : ColumnsUnknown;

    /// <summary>As much of a line as can be drawn over: one in the last column would begin the next line.</summary>
    public static string Cut(string line, int columns) => line.Length < columns ? line : line[..Math.Max(0, columns - 1)];

    /// <summary>Whether colours are wanted there (no-color.org).</summary>
    public static bool WantsColours => string.IsNullOrEmpty(Environment.GetEnvironmentVariable("NO_COLOR"));

    /// <summary>Whether somebody looks at it who is helped by more than bare lines.</summary>
    public static bool IsInteractive(bool isRedirected) =>
        !isRedirected && Environment.GetEnvironmentVariable("TERM") is not (null or "" or "dumb");
}
