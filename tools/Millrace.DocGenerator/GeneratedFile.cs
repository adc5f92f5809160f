using Millrace.DocGenerator.CommandLine;
using Millrace.DocGenerator.Completions;
using Millrace.DocGenerator.Manual;
using Millrace.DocGenerator.Reference;
using Millrace.DocGenerator.Requirements;
using Millrace.Server;

namespace Millrace.DocGenerator;

/// <summary>A file that is made from the command line, the table of options or the lists of requirements, and committed.</summary>
/// <param name="Path">Where it is in the repository.</param>
/// <param name="Text">What it holds.</param>
internal sealed record GeneratedFile(string Path, string Text)
{
    /// <summary>The command line of millrace.</summary>
    public static CommandModel CommandLine { get; } = CommandModel.Of(MillraceCommand.Create());

    public static IReadOnlyList<GeneratedFile> All { get; } =
    [
        new("docs/configuration.md", ReferencePage.Text),
        new("docs/millrace.schema.json", ConfigurationSchema.Text),
        new(RequirementsPage.Path, RequirementsPage.Of(FindRepository())),
        new("deploy/man/millrace.1", ManualPage.Of(CommandLine)),
        .. CompletionScript.Shells.Select(static shell =>
            new GeneratedFile($"deploy/completions/millrace.{shell.Key}", shell.Value(CommandLine))),
    ];

    public bool IsCurrent(string root)
    {
        string path = System.IO.Path.Combine(root, Path);
        return File.Exists(path) && File.ReadAllText(path) == Text;
    }

    /// <summary>Writes the file unless it is current; returns whether it was written.</summary>
    public bool Update(string root)
    {
        if (IsCurrent(root))
        {
            return false;
        }

        string path = System.IO.Path.Combine(root, Path);
        Directory.CreateDirectory(System.IO.Path.GetDirectoryName(path)!);
        File.WriteAllText(path, Text);
        return true;
    }

    /// <summary>The folder of the solution, above this program.</summary>
    public static string FindRepository()
    {
        DirectoryInfo? folder = new(AppContext.BaseDirectory);
        while (folder is not null && !File.Exists(System.IO.Path.Combine(folder.FullName, "Millrace.slnx")))
        {
            folder = folder.Parent;
        }

        return folder?.FullName ?? throw new DirectoryNotFoundException("Millrace.slnx is in no folder above the program.");
    }
}
