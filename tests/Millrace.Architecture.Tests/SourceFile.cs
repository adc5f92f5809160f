using System.Text;

namespace Millrace.Architecture.Tests;

/// <summary>One file of the repository as rules see it: its path from the root and its text, empty when it is binary.</summary>
internal sealed class SourceFile(string path, string text)
{
    public string Path { get; } = path;

    public string Text { get; } = text;

    public IReadOnlyList<string> Lines { get; } = text.Split('\n');

    public Finding At(int position, string problem) => new(Path, Text.AsSpan(0, position).Count('\n') + 1, problem);

    public static SourceFile Read(string path, string fullPath)
    {
        byte[] bytes = File.ReadAllBytes(fullPath);
        return new SourceFile(path, bytes.Contains((byte)0) ? "" : Encoding.UTF8.GetString(bytes));
    }
}
