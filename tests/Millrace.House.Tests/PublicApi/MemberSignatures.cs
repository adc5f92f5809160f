using System.Globalization;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Millrace.House.Tests.PublicApi;

/// <summary>One member in one line; null for what no caller outside the assembly can reach.</summary>
internal static class MemberSignatures
{
    private static readonly NullabilityInfoContext Nullability = new();

    public static string? Of(MemberInfo member) => member switch
    {
        FieldInfo field => OfField(field),
        PropertyInfo property => OfProperty(property),
        EventInfo { AddMethod: { } add } happening when Access(add) is { } access =>
            $"{access}{Modifiers(add)}event {TypeNames.Of(happening.EventHandlerType!, Nullability.Create(happening))} {happening.Name}",
        ConstructorInfo { IsStatic: false } constructor when Access(constructor) is { } access =>
            $"{access}{TypeNames.OfDefinition(constructor.DeclaringType!).Split('.')[^1]}({Parameters(constructor.GetParameters())})",
        MethodInfo method when !IsAccessor(method) => OfMethod(method),
        _ => null,
    };

    private static string? OfField(FieldInfo field)
    {
        if (!field.IsPublic && !field.IsFamily && !field.IsFamilyOrAssembly)
        {
            return null;
        }

        string access = field.IsPublic ? "" : "protected ";
        string kind = field.IsLiteral ? "const " : (field.IsStatic ? "static " : "") + (field.IsInitOnly ? "readonly " : "");
        string value = field.IsLiteral ? " = " + Literal(field.GetRawConstantValue()) : "";
        return $"{access}{kind}{TypeNames.Of(field.FieldType, Nullability.Create(field))} {field.Name}{value}";
    }

    private static string? OfProperty(PropertyInfo property)
    {
        string? get = property.GetMethod is { } getter && Access(getter) is { } getAccess ? $"{getAccess}get; " : null;
        string? set = property.SetMethod is { } setter && Access(setter) is { } setAccess
            ? setAccess + (IsInit(setter) ? "init; " : "set; ")
            : null;
        if (get is null && set is null)
        {
            return null;
        }

        string name = property.GetIndexParameters() is { Length: > 0 } indices ? $"this[{Parameters(indices)}]" : property.Name;
        string required = property.IsDefined(typeof(RequiredMemberAttribute)) ? "required " : "";
        string reference = Reference(property.PropertyType, property.IsDefined(typeof(IsReadOnlyAttribute)));
        string type = TypeNames.Of(property.PropertyType, Nullability.Create(property));
        return $"{required}{Modifiers((property.GetMethod ?? property.SetMethod)!)}{reference}{type} {name} {{ {get}{set}}}";
    }

    private static string? OfMethod(MethodInfo method)
    {
        if (Access(method) is not { } access)
        {
            return null;
        }

        string generics = method.IsGenericMethod
            ? $"<{string.Join(", ", method.GetGenericArguments().Select(argument => argument.Name))}>"
            : "";
        string extension = method.IsDefined(typeof(ExtensionAttribute)) ? "this " : "";
        string reference = Reference(method.ReturnType, method.ReturnParameter.IsDefined(typeof(IsReadOnlyAttribute)));
        string type = TypeNames.Of(method.ReturnType, Nullability.Create(method.ReturnParameter));
        return $"{access}{Modifiers(method)}{reference}{type} {method.Name}{generics}({extension}{Parameters(method.GetParameters())})";
    }

    private static string Parameters(ParameterInfo[] parameters) => string.Join(", ", parameters.Select(Parameter));

    private static string Parameter(ParameterInfo parameter)
    {
        string passing = parameter.IsDefined(typeof(ParamArrayAttribute)) || parameter.IsDefined(typeof(ParamCollectionAttribute)) ? "params "
            : !parameter.ParameterType.IsByRef ? ""
            : parameter.IsOut ? "out "
            : parameter.IsIn ? "in "
            : "ref ";
        string value = parameter.HasDefaultValue ? " = " + Literal(parameter.RawDefaultValue) : "";
        return $"{passing}{TypeNames.Of(parameter.ParameterType, Nullability.Create(parameter))} {parameter.Name}{value}";
    }

    /// <summary>"" for public, "protected ", or null for what stays inside the assembly.</summary>
    private static string? Access(MethodBase method) =>
        method.IsPublic ? "" : method.IsFamily || method.IsFamilyOrAssembly ? "protected " : null;

    private static string Modifiers(MethodInfo method) => method switch
    {
        { DeclaringType.IsInterface: true } => method.IsStatic ? "static " : method.IsAbstract ? "" : "virtual ",
        { IsStatic: true } => "static ",
        { IsVirtual: false } => "",
        _ when method.GetBaseDefinition() != method => method.IsFinal ? "sealed override " : "override ",
        { IsFinal: true } => "",
        { IsAbstract: true } => "abstract ",
        _ => "virtual ",
    };

    private static string Reference(Type type, bool isReadOnly) => !type.IsByRef ? "" : isReadOnly ? "ref readonly " : "ref ";

    private static bool IsInit(MethodInfo setter) =>
        setter.ReturnParameter.GetRequiredCustomModifiers().Contains(typeof(IsExternalInit));

    private static bool IsAccessor(MethodInfo method) =>
        method.IsSpecialName && !method.Name.StartsWith("op_", StringComparison.Ordinal);

    private static string Literal(object? value) => value switch
    {
        null => "default",
        string text => $"\"{text}\"",
        bool flag => flag ? "true" : "false",
        _ => Convert.ToString(value, CultureInfo.InvariantCulture) ?? "",
    };
}
