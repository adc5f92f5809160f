namespace Millrace.Server.Terminal;

/// <summary>Facts about the terminal, if there is one.</summary>
internal static class TerminalFacts
{
    private const int ColumnsUnknown = 80;

    /// <summary>The reported width; some terminals report 0.</summary>
    public static int Columns => Console.WindowWidth is > 0 and int columns ? columns : ColumnsUnknown;

    /// <summary>Cuts a line so that it can be redrawn: text in the last column would wrap to the next line.</summary>
    public static string Cut(string line, int columns) => line.Length < columns ? line : line[..Math.Max(0, columns - 1)];

    /// <summary>Whether colours are wanted (no-color.org).</summary>
    public static bool WantsColours => string.IsNullOrEmpty(Environment.GetEnvironmentVariable("NO_COLOR"));

    /// <summary>Whether the output is an interactive terminal.</summary>
    public static bool IsInteractive(bool isRedirected) =>
        !isRedirected && Environment.GetEnvironmentVariable("TERM") is not (null or "" or "dumb");
}
