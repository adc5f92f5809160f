namespace Millrace.Server;

/// <summary>What the process ends with; scripts rely on the numbers.</summary>
internal static class ExitCode
{
    public const int Done = 0;

    /// <summary>The host did not let us: an address in use, io_uring refused.</summary>
    public const int Refused = 1;

    /// <summary>We were told something impossible: an unknown option, a bad address, a root that is not there.</summary>
    public const int Usage = 2;
}
