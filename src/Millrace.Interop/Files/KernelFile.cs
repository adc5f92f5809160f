namespace Millrace.Interop.Files;

/// <summary>Reads files of the kernel: settings below /proc/sys, and other facts below /proc and /sys.</summary>
internal static class KernelFile
{
    /// <summary>The trimmed content; null if the file does not exist or is not readable.</summary>
    public static string? TryRead(string path)
    {
        try
        {
            return File.ReadAllText(path).Trim();
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }
}
