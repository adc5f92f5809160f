namespace Millrace.House.Tests.Rules;

/// <summary>A file is one idea (most are under 300 lines), and a line fits a screen.</summary>
internal static class SizeRules
{
    public const int FileLinesMax = 500;
    public const int LineColumnsMax = 140;

    public static IEnumerable<Finding> Length(SourceFile file)
    {
        int lines = file.Lines.Count - (file.Lines[^1].Length == 0 ? 1 : 0);
        return lines > FileLinesMax ? [new Finding(file.Path, lines, $"{lines} lines, at most {FileLinesMax}: it holds more than one idea")] : [];
    }

    public static IEnumerable<Finding> Width(SourceFile file) =>
        from line in file.Lines.Index()
        where line.Item.Length > LineColumnsMax
        select new Finding(file.Path, line.Index + 1, $"{line.Item.Length} columns, at most {LineColumnsMax}");
}
