namespace Millrace.DocGenerator.Requirements;

/// <summary>What an RFC requires, and what holds it: tests by their names, or the reason why there are none.</summary>
internal sealed record Requirement(string Section, string Text, string Holder)
{
    /// <summary>Where the lists are: a file for each RFC, a line for each requirement, three fields with tabs between.</summary>
    public const string Folder = "tests/Millrace.Architecture.Tests/Requirements";

    public const string NotApplicable = "n/a: ";
    public const string Open = "open: ";

    public bool IsNotApplicable => Holder.StartsWith(NotApplicable, StringComparison.Ordinal);

    public bool IsOpen => Holder.StartsWith(Open, StringComparison.Ordinal);

    /// <summary>Names of tests, as Class.Method.</summary>
    public IReadOnlyList<string> Tests => IsNotApplicable || IsOpen ? [] : Holder.Split(' ', StringSplitOptions.RemoveEmptyEntries);

    /// <summary>The requirements of each RFC, by its number.</summary>
    public static IReadOnlyList<(string Rfc, IReadOnlyList<Requirement> Requirements)> ReadAll(string root) =>
    [
        .. Directory.EnumerateFiles(Path.Combine(root, Folder), "rfc*.tsv")
            .Order(StringComparer.Ordinal)
            .Select(static file => (Path.GetFileNameWithoutExtension(file)[3..], Read(file))),
    ];

    private static IReadOnlyList<Requirement> Read(string file) => [.. File.ReadAllLines(file).Select((line, index) =>
    {
        string[] fields = line.Split('\t');
        return fields.Length == 3
            ? new Requirement(fields[0], fields[1], fields[2])
            : throw new InvalidDataException($"{Path.GetFileName(file)}, line {index + 1}: {fields.Length} fields, not 3");
    })];
}
