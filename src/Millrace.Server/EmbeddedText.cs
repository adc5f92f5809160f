namespace Millrace.Server;

/// <summary>Texts that the build embeds in the program: the dashboard, and what tools/Millrace.DocGenerator writes.</summary>
internal static class EmbeddedText
{
    public static string Read(string name)
    {
        using Stream stream = typeof(EmbeddedText).Assembly.GetManifestResourceStream(name)
            ?? throw new InvalidOperationException($"{name} is not embedded.");
        using var reader = new StreamReader(stream);
        return reader.ReadToEnd();
    }
}
