namespace Millrace.Server;

/// <summary>Exit codes of the process, on which scripts rely.</summary>
internal static class ExitCode
{
    public const int Done = 0;

    /// <summary>The host refused something: an address in use, io_uring forbidden.</summary>
    public const int Refused = 1;

    /// <summary>Invalid input: an unknown option, a bad address, a missing root.</summary>
    public const int Usage = 2;
}
