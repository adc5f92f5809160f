namespace Millrace.Server.Terminal;

/// <summary>Prints errors to stderr, each in one line that begins with the program's name, whatever names of files it holds.</summary>
internal static class ErrorLine
{
    public static void Print(string text) => Console.Error.WriteLine($"millrace: {Escaped(text)}");

    public static int Print(string text, int exitCode)
    {
        Print(text);
        return exitCode;
    }

    private static string Escaped(string text) =>
        string.Concat(text.Select(static letter => char.IsControl(letter) ? $"\\x{(int)letter:x2}" : letter.ToString()));
}

/// <summary>Exit codes of the process, on which scripts rely.</summary>
internal static class ExitCode
{
    public const int Done = 0;

    /// <summary>The host refused something: an address in use, io_uring forbidden.</summary>
    public const int Refused = 1;

    /// <summary>Invalid input: an unknown option, a bad address, a missing root.</summary>
    public const int Usage = 2;
}
