using System.Text;

namespace Millrace.House.Tests;

/// <summary>One file of the repository as rules see it: its path from the root and its text, empty when it is binary.</summary>
internal sealed class SourceFile(string path, string text)
{
    private CSharpText? _csharp;

    public string Path { get; } = path;

    public string Text { get; } = text;

    public IReadOnlyList<string> Lines { get; } = text.Split('\n');

    /// <summary>The project a file belongs to: the second folder of its path.</summary>
    public string Project => Path.Split('/') is [_, var project, ..] ? project : "";

    /// <summary>The text with comments and the contents of literals blanked; positions stay.</summary>
    public string Code => (_csharp ??= new CSharpText(Text)).Code;

    /// <summary>The text with everything but comments blanked; positions stay.</summary>
    public string Comments => (_csharp ??= new CSharpText(Text)).Comments;

    public Finding At(int position, string problem) => new(Path, Text.AsSpan(0, position).Count('\n') + 1, problem);

    public static SourceFile Read(string path, string fullPath)
    {
        byte[] bytes = File.ReadAllBytes(fullPath);
        return new SourceFile(path, bytes.Contains((byte)0) ? "" : Encoding.UTF8.GetString(bytes));
    }
}
