using System.Diagnostics;
using System.Globalization;

namespace Millrace.Server.Terminal;

/// <summary>A progress line on stderr that is redrawn in place, only if stderr is a terminal. Disposal removes it. Any thread.</summary>
internal sealed class ProgressLine : IDisposable
{
    private const int BarColumns = 24;

    /// <summary>Redrawn at most ten times a second.</summary>
    private const int PauseMs = 100;

    /// <summary>Moves to the first column and clears the rest of the line (ECMA-48, CR and EL).</summary>
    public const string Clear = "\r\x1b[K";

    private readonly Lock _drawing = new();
    private readonly string _verb;
    private readonly int _total;
    private readonly bool _isShown = TerminalFacts.IsInteractive(Console.IsErrorRedirected);
    private int _done;
    private bool _isDrawn;
    private long _drawnAt;

    /// <param name="verb">The verb.</param>
    /// <param name="total">The number of steps.</param>
    public ProgressLine(string verb, int total)
    {
        _verb = verb;
        _total = total;
        _drawnAt = Stopwatch.GetTimestamp();
    }

    /// <summary>Counts one step.</summary>
    public void Step(string name)
    {
        lock (_drawing)
        {
            _done++;
            if (_isShown && Stopwatch.GetElapsedTime(_drawnAt).TotalMilliseconds >= PauseMs)
            {
                _drawnAt = Stopwatch.GetTimestamp();
                _isDrawn = true;
                Console.Error.Write(Clear + Text(_verb, _done, _total, name, TerminalFacts.Columns));
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
