namespace Millrace.Server.Terminal;

/// <summary>Prints errors to stderr, in lines that begin with the program's name.</summary>
internal static class ErrorLine
{
    public static void Print(string text) => Console.Error.WriteLine($"millrace: {text}");

    public static int Print(string text, int exitCode)
    {
        Print(text);
        return exitCode;
    }
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
