namespace Millrace.Engine.Backends.Uring;

/// <summary>What the kernel says of this process that explains a refused io_uring.</summary>
/// <param name="UringDisabled">Whether <c>kernel.io_uring_disabled</c> (6.6) is set: to 1 (all but a group) or 2 (all).</param>
/// <param name="SeccompFilters">Whether system calls pass a seccomp filter.</param>
internal sealed record HostRestrictions(bool UringDisabled, bool SeccompFilters)
{
    private const string DisabledSetting = "/proc/sys/kernel/io_uring_disabled";
    private const string Status = "/proc/self/status";
    private const string SeccompField = "Seccomp:";

    /// <summary>SECCOMP_MODE_FILTER, as proc(5) shows it.</summary>
    private const string FilterMode = "2";

    public static HostRestrictions Read() => new(
        Lines(DisabledSetting).Any(static line => line.Trim() != "0"),
        Lines(Status).Any(static line =>
            line.StartsWith(SeccompField, StringComparison.Ordinal) && line[SeccompField.Length..].Trim() == FilterMode));

    /// <summary>None where the file is not there (an older kernel) or may not be read: then nothing is known.</summary>
    private static string[] Lines(string path)
    {
        try
        {
            return File.Exists(path) ? File.ReadAllLines(path) : [];
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return [];
        }
    }
}
