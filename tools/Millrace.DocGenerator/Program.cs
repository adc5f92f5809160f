using Millrace.DocGenerator;

// Millrace.DocGenerator [ROOT]: writes the generated files below ROOT, by default the repository that holds this program.
if (args.Length > 1)
{
    Console.Error.WriteLine("Usage: Millrace.DocGenerator [ROOT]");
    return 2;
}

string root = args.Length == 1 ? args[0] : GeneratedFile.FindRepository();
foreach (GeneratedFile file in GeneratedFile.All)
{
    Console.WriteLine($"{(file.Update(root) ? "written  " : "unchanged")}  {file.Path}");
}

return 0;
