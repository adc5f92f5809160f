using System.Diagnostics;
using System.Globalization;

namespace Millrace.Server.Terminal;

/// <summary>A progress line on stderr that is redrawn in place, only if stderr is a terminal. Disposal removes it. Any thread.</summary>
internal sealed class ProgressLine(string verb, int total) : IDisposable
{
    private const int BarColumns = 24;

    /// <summary>Redrawn at most ten times a second.</summary>
    private const int PauseMs = 100;

    /// <summary>Moves to the first column and clears the rest of the line (ECMA-48, CR and EL).</summary>
    private const string Clear = "\r\x1b[K";

    private readonly Lock _drawing = new();
    private readonly bool _isShown = TerminalFacts.IsInteractive(Console.IsErrorRedirected);
    private int _done;
    private bool _isDrawn;
    private long _drawnAt = Stopwatch.GetTimestamp();

    public void Step(string name)
    {
        lock (_drawing)
        {
            _done++;
            if (_isShown && Stopwatch.GetElapsedTime(_drawnAt).TotalMilliseconds >= PauseMs)
            {
                _drawnAt = Stopwatch.GetTimestamp();
                _isDrawn = true;
                Console.Error.Write(Clear + Text(verb, _done, total, name, TerminalFacts.Columns));
            }
        }
    }

    public void Dispose()
    {
        lock (_drawing)
        {
            if (_isDrawn)
            {
                Console.Error.Write(Clear);
                _isDrawn = false;
            }
        }
    }

    /// <summary>The line, cut to the terminal's width.</summary>
    public static string Text(string verb, int done, int total, string name, int columns)
    {
        int filled = total == 0 ? BarColumns : (int)((long)done * BarColumns / total);
        string bar = new string('#', filled) + new string('.', BarColumns - filled);
        return TerminalFacts.Cut(string.Create(CultureInfo.InvariantCulture, $"{verb} [{bar}] {done:N0}/{total:N0} {name}"), columns);
    }
}

/// <summary>Facts about the terminal, if there is one.</summary>
internal static class TerminalFacts
{
    private const int ColumnsUnknown = 80;

    /// <summary>The reported width; some terminals report 0.</summary>
    public static int Columns => Console.WindowWidth is > 0 and int columns ? columns : ColumnsUnknown;

    /// <summary>Cuts a line so that it can be redrawn: text in the last column would wrap to the next line.</summary>
    public static string Cut(string line, int columns) => line.Length < columns ? line : line[..Math.Max(0, columns - 1)];

    public static bool IsInteractive(bool isRedirected) =>
        !isRedirected && Environment.GetEnvironmentVariable("TERM") is not (null or "" or "dumb");
}
