// The compiler documents all members, a package's readers see some: PublicDocs LIBRARY.dll FILE.xml... takes the others out of the files.
using System.Reflection;
using System.Xml.Linq;
using Millrace.PublicDocs;

HashSet<string> visible = VisibleMembers.Of(Assembly.LoadFrom(Path.GetFullPath(args[0])));
foreach (string path in args.Skip(1).Where(File.Exists))
{
    XDocument documentation = XDocument.Load(path, LoadOptions.PreserveWhitespace);
    documentation.Descendants("member")
        .Where(member => !visible.Contains(VisibleMembers.KeyOf((string)member.Attribute("name")!)))
        .ToList()
        .ForEach(static member => member.Remove());
    documentation.Save(path, SaveOptions.DisableFormatting);
}
