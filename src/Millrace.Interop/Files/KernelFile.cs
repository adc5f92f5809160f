namespace Millrace.Interop.Files;

/// <summary>Files in which the kernel tells of itself: settings below /proc/sys, and what else it says below /proc and /sys.</summary>
internal static class KernelFile
{
    /// <summary>The content, trimmed; null where it is not there or not to be read.</summary>
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
