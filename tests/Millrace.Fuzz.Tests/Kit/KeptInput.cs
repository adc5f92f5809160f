namespace Millrace.Fuzz.Tests.Kit;

/// <summary>A file with an input: as a line of text, or as a run left it that a fault ended (<c>*.running</c>).</summary>
internal static class KeptInput
{
    public static byte[] Read(string path) =>
        path.EndsWith(".running", StringComparison.Ordinal) ? InputLog.Read(path) : Escaped.Read(File.ReadAllText(path).TrimEnd('\n'));
}
