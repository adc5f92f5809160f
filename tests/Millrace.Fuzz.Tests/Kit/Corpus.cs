namespace Millrace.Fuzz.Tests.Kit;

/// <summary>
/// The committed inputs of a target: what specifications and old faults have taught. An input a line, see <see cref="Escaped"/>.
/// </summary>
internal static class Corpus
{
    public static string PathOf(string target) => Path.Combine(AppContext.BaseDirectory, "Corpus", $"{target}.txt");

    public static byte[][] Of(FuzzTarget target) =>
        [.. File.ReadLines(PathOf(target.Name)).Where(line => !line.StartsWith("# ", StringComparison.Ordinal)).Select(Escaped.Read)];
}
